-- Claims all keys, or no key.
-- KEYS: the event's keys. ARGV: the id of the claim, the lease in ms.
local busy = false
for _, key in ipairs(KEYS) do
	local state = redis.call('GET', key)
	if state == 'done' then
		return 'done'
	elseif state and state ~= ARGV[1] then -- otherwise it is this claim, because the client has sent the command again
		busy = true
	end
end
if busy then
	return 'busy'
end
for _, key in ipairs(KEYS) do
	redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return 'granted'
