-- One turn of one process at the ceiling of one operation. It tells what became of
-- the permits that the process had, asks for new ones, and learns when to come
-- again. All times are this server's, in microseconds.
--
-- slots  sorted set: permit -> when its slot comes back. A permit that is out has
--        the end of its lease, plus a window: a holder that died may have sent.
-- line   list: one entry per ticket, the process's name. First come, first served.
-- alive  sorted set: process in line -> when its tickets lapse.
-- rest   string: nothing is granted before.
-- born   string: when the last turn was. Without it the server has lost its memory; a
--        time to come means that its clock was set back, and what else it remembers
--        would hold for as long. It rests then: it does not know what was sent, or
--        when, and is told meanwhile what is out.
local slots, line, alive, rest, born = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local me = ARGV[1]
local limit = tonumber(ARGV[2])
local window = tonumber(ARGV[3])
local lease = tonumber(ARGV[4])
local want = tonumber(ARGV[5])     -- callers that wait in the process
local first = tonumber(ARGV[6])    -- number of the first permit to be granted
local pause = tonumber(ARGV[7])    -- grant nothing for so long
local newborn = tonumber(ARGV[8])  -- rest for so long when the memory begins
local left, unused, held = ARGV[9], ARGV[10], ARGV[11] -- numbers of permits

local patience = 250000  -- look again after so long: slots come back early, processes die
local restful = 5000000  -- the same in a rest, which nothing shortens
local grace = 250000     -- how much later than promised a process may come
local soonest = 500

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function text(number) return string.format('%.0f', number) end
local function permit(number) return me .. ':' .. number end

-- The memory, if there is one.
local last = redis.call('GET', born)
if last and tonumber(last) > now + window then -- by less it may be off
	redis.call('DEL', slots, line, alive, rest)
	last = false
end
if not last then
	pause = math.max(pause, newborn)
end
redis.call('SET', born, text(now))

-- What became of earlier permits.
for number in string.gmatch(left, '%d+') do
	redis.call('ZADD', slots, text(now + window), permit(number))
end
for number in string.gmatch(unused, '%d+') do
	redis.call('ZREM', slots, permit(number))
end
for number in string.gmatch(held, '%d+') do
	redis.call('ZADD', slots, text(now + lease + window), permit(number))
end
redis.call('ZREMRANGEBYSCORE', slots, '-inf', text(now))

-- Rests.
local quiet = tonumber(redis.call('GET', rest) or 0)
if pause > 0 and now + pause > quiet then
	quiet = now + pause
	redis.call('SET', rest, text(quiet), 'PX', math.ceil(pause / 1000))
end

-- The line, without those who did not come.
redis.call('ZREM', alive, me)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', alive, '-inf', text(now))) do
	redis.call('LREM', line, 0, gone)
	redis.call('ZREM', alive, gone)
end
-- The processes in line together may have about as many tickets as there are slots: so
-- each gets its part of slots that come back at once, and the line stays short.
local most = math.ceil(limit / (redis.call('ZCARD', alive) + 1))
local mine = redis.call('LPOS', line, me, 'COUNT', 0)
local excess = #mine - math.min(want, most)
if excess > 0 then
	redis.call('LREM', line, -excess, me) -- the last ones
	mine = redis.call('LPOS', line, me, 'COUNT', 0)
end

-- Grants: the tickets in front, and what nobody in line needs.
local free = limit - redis.call('ZCARD', slots)
local granted = 0
if redis.call('ZSCORE', slots, permit(text(first))) then
	-- This very turn was played before, and its reply was lost. The leases begin anew:
	-- that may have been long ago.
	while redis.call('ZSCORE', slots, permit(text(first + granted))) do
		redis.call('ZADD', slots, text(now + lease + window), permit(text(first + granted)))
		granted = granted + 1
	end
elseif quiet <= now and free > 0 then
	for _, rank in ipairs(mine) do
		if rank < free then
			granted = granted + 1
		end
	end
	local spare = free - redis.call('LLEN', line)
	if granted > 0 then
		redis.call('LREM', line, granted, me) -- the first ones
	end
	granted = granted + math.max(0, math.min(spare, want - #mine))
	for i = 0, granted - 1 do
		redis.call('ZADD', slots, text(now + lease + window), permit(text(first + i)))
	end
end

-- New tickets for those who still wait.
local tickets = #redis.call('LPOS', line, me, 'COUNT', 0)
for _ = tickets + 1, math.min(want - granted, most) do
	redis.call('RPUSH', line, me)
	tickets = tickets + 1
end

-- When the first of them can be served.
local wait = 0
if tickets > 0 then
	free = limit - redis.call('ZCARD', slots)
	local needed = redis.call('LPOS', line, me) - free -- slots that must come back before its own
	local at = now
	if needed >= 0 then
		at = tonumber(redis.call('ZRANGE', slots, needed, needed, 'WITHSCORES')[2]) or now + window
	end
	wait = math.min(at - now, patience)
	if quiet > now then
		wait = math.min(math.max(wait, quiet - now), restful)
	end
	wait = math.max(wait, soonest)
	redis.call('ZADD', alive, text(now + wait + grace), me)
	redis.call('PEXPIRE', line, 10000)
	redis.call('PEXPIRE', alive, 10000)
end
redis.call('PEXPIRE', slots, math.ceil((lease + window) / 1000))
return {granted, tickets, most, math.ceil(wait)}
