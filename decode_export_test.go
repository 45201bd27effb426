// What the tests of decoding need from inside.

package hotelstays

// DecodeTarget is what the client reads an answer into.
var DecodeTarget = decodeTarget
