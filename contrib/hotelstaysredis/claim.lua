-- Claims all keys, or none.
-- KEYS: the event's keys. ARGV: the id of the claim, the lease in ms.
local busy = false
for _, key in ipairs(KEYS) do
	local state = redis.call('GET', key)
	if state == 'done' then
		return 'done'
	elseif state and state ~= ARGV[1] then -- its own claim: the client sent the command again
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
