// Package hotelstayssql keeps in a SQL database what the processes of a fleet share.
package hotelstayssql
