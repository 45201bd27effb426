-- One turn of one process at the ceiling of one operation. It tells what became of
-- the permits that the process had, asks for new ones, and learns when to come
-- again. All times are this server's, in microseconds.
--
-- memory  hash: run, of which run of the server this is the memory; since, when it
--         began; last, when the last turn was; and a field for each operation that has
--         slots here.
-- slots   sorted set: permit -> when its slot comes back: a window after its request
--         arrived, as far as its process can say, or at the end of its lease.
--         And rest -> minus the time before which nothing is granted: it lies with the
--         slots, and is always there, so that slots are never lost unnoticed; and
--         refused -> minus the time of the last 429.
-- line    list: one entry per ticket, the process's name. First come, first served.
-- alive   sorted set: process in line -> when its tickets lapse.
-- turn    string: the number of the process's last turn.
--
-- The memory lives as long as this run of the server. One that starts again from its
-- disk, or was a replica, may lack the last moments. A last turn in the future means that
-- the clock was set back: what else is remembered would hold for as long.
local memory, slots, line, alive, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local me = ARGV[1]
local op = ARGV[2]
local number = tonumber(ARGV[3])   -- of this turn
local limit = tonumber(ARGV[4])
local window = tonumber(ARGV[5])   -- the service's second
local lease = tonumber(ARGV[6])    -- how long a permit that is out is kept, unless renewed
local want = tonumber(ARGV[7])     -- callers that wait in the process
local first = tonumber(ARGV[8])    -- number of the first permit to be granted
local pause = tonumber(ARGV[9])    -- grant nothing for so long
local newborn = tonumber(ARGV[10]) -- grant nothing for so long after the memory began
local refused = tonumber(ARGV[11]) -- how long ago the process got a new 429; less than 0: none
local left = ARGV[12]              -- permits whose requests left: number:how long ago they had arrived
local unused, held = ARGV[13], ARGV[14] -- numbers of permits

local patience = 250000  -- look again after so long: slots come back early, processes die
local restful = 5000000  -- the same in a rest, which nothing shortens
local grace = 250000     -- how much later than promised a process may come
local soonest = 500

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function text(number) return string.format('%.0f', number) end
local function permit(number) return me .. ':' .. number end
local function taken() return redis.call('ZCOUNT', slots, '(0', '+inf') end

-- A turn that a later one has overtaken was given up by its process, and does nothing.
if number < (tonumber(redis.call('GET', turn)) or 0) then
	return {}
end
redis.call('SET', turn, text(number), 'PX', 60000)

-- The memory.
local info = redis.pcall('INFO', 'server') -- users may be denied it
local this = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or 'unknown'
local run, since, last, used = unpack(redis.call('HMGET', memory, 'run', 'since', 'last', op))
if run ~= this or tonumber(last) > now + window then -- by less it may be off
	redis.call('DEL', memory)
	redis.call('HSET', memory, 'run', this, 'since', text(now))
	since, used = now, false
end
redis.call('HSET', memory, 'last', text(now), op, 1)
if not used then
	redis.call('DEL', slots, line, alive)
end

-- The rest. An operation's first one began with the memory, whoever began it. Slots
-- that are gone while the memory stays were evicted.
local quiet = redis.call('ZSCORE', slots, 'rest')
if quiet then
	quiet = -tonumber(quiet)
else
	quiet = (used and now or tonumber(since)) + newborn
end
quiet = math.max(quiet, now + pause)
redis.call('ZADD', slots, text(-quiet), 'rest')

-- What one process knows of a 429, all learn.
local before = redis.call('ZSCORE', slots, 'refused')
if before and (refused < 0 or now + before < refused) then
	refused = now + before
elseif refused >= 0 then
	redis.call('ZADD', slots, text(refused - now), 'refused')
end

-- What became of earlier permits.
for number, ago in string.gmatch(left, '(%d+):(-?%d+)') do
	redis.call('ZADD', slots, text(now - ago + window), permit(number))
end
for number in string.gmatch(unused, '%d+') do
	redis.call('ZREM', slots, permit(number))
end
for number in string.gmatch(held, '%d+') do
	redis.call('ZADD', slots, text(now + lease), permit(number))
end
redis.call('ZREMRANGEBYSCORE', slots, '(0', text(now))

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
local free = limit - taken()
local granted = 0
if redis.call('ZSCORE', slots, permit(text(first))) then
	-- This very turn was played before, and its reply was lost. The leases begin anew:
	-- that may have been long ago.
	while redis.call('ZSCORE', slots, permit(text(first + granted))) do
		redis.call('ZADD', slots, text(now + lease), permit(text(first + granted)))
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
		redis.call('ZADD', slots, text(now + lease), permit(text(first + i)))
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
	free = limit - taken()
	local needed = redis.call('LPOS', line, me) - free -- slots that must come back before its own
	local at = now
	if needed >= 0 then
		at = tonumber(redis.call('ZRANGEBYSCORE', slots, '(0', '+inf', 'WITHSCORES', 'LIMIT', needed, 1)[2]) or now + window
	end
	wait = math.min(at - now, patience)
	if quiet > now then
		wait = math.min(math.max(wait, quiet - now), restful)
	end
	wait = math.max(wait, soonest)
	redis.call('ZADD', alive, text(now + wait + grace), me)
end
return {granted, tickets, most, math.ceil(wait), math.ceil(refused)}
