// Package hotelstaysredis lets the processes of a fleet share, through Redis, what
// a client of package hotelstays otherwise keeps for itself:
//
//   - TokenStore: the token, so that one process fetches it for all;
//   - RateLimiter: the ceilings, which the service counts by client address;
//   - EventStore: which webhooks were handled.
//
// Each takes a client of github.com/redis/go-redis/v9 for one server, a failover
// group or a cluster, which stays the caller's to configure and to close. That
// client must read from masters: a replica's past is not what the others did.
// Redis 6.2 or later, or one of its kin, is needed.
//
// All keys begin with a prefix. Give every environment of the service one of its
// own, and for a RateLimiter every client address, too. The keys of one script
// share a hash tag, and so a slot of a cluster. Redis must not evict keys at will:
// set maxmemory-policy to noeviction.
package hotelstaysredis
