#!/bin/sh
# Loses the answer to a Book, and recovers the booking, with curl alone. README.md lists the
# environment variables.
set -eu

base=${HOTELSTAYS_BASE_URL%/}
app_key=${HOTELSTAYS_APP_KEY-sandbox-app-key}
app_secret=${HOTELSTAYS_APP_SECRET-sandbox-app-secret}
reference=shell-$$-$(date +%s)

# post sends JSON to a path. Further arguments are curl's.
post() {
	path=$1 body=$2
	shift 2
	curl -sS --max-time 30 ${HOTELSTAYS_SANDBOX_CA+--cacert "$HOTELSTAYS_SANDBOX_CA"} \
		"$base$path" -H 'Content-Type: application/json' -d "$body" "$@"
}

# control calls the control API: a method, a path, and for POST a body.
control() {
	curl -sS --fail-with-body --max-time 30 ${HOTELSTAYS_SANDBOX_CA+--cacert "$HOTELSTAYS_SANDBOX_CA"} \
		${HOTELSTAYS_CONTROL_TOKEN+-H "Authorization: Bearer $HOTELSTAYS_CONTROL_TOKEN"} \
		-X "$1" "$base/_sandbox$2" ${3+-H 'Content-Type: application/json' -d "$3"}
}

# field returns the first value of a field in the JSON on its input.
field() { grep -o "\"$1\":\"\\{0,1\\}[^\",}]*" | head -n 1 | sed 's/^[^:]*:"\{0,1\}//'; }

count() { control GET /ledger | field "$1"; }

ticket=$(post /api/auth/ticket "{\"appKey\":\"$app_key\",\"appSecret\":\"$app_secret\"}" | field ticket)
city=$(control GET '/catalog?limit=1' | grep -o '"cities":.*' | field id)
found=$(post /api/search/hotelList "{\"destinationId\":\"$city\",\"checkIn\":\"2040-03-12\",\"checkOut\":\"2040-03-15\",
	\"roomOccupancies\":[{\"adultCount\":2}],\"pageSize\":1}" -H "Authorization: Bearer $ticket")
session=$(echo "$found" | field sessionId)
offer=$(echo "$found" | field ratePkgId)
orders_before=$(count orders)

echo "1. The answer to the next Book will be lost."
control POST /faults '{"operation":"Book","kind":"cut","commit":true}' >/dev/null
if post /api/trade/book "{\"customerReferenceNo\":\"$reference\",\"ratePkgId\":\"$offer\",
	\"callbackUrl\":\"http://127.0.0.1:9/events\",\"holder\":{\"firstName\":\"Guest\",\"lastName\":\"One\"},
	\"guests\":[{\"roomIndex\":1,\"firstName\":\"Guest\",\"lastName\":\"$reference\"}]}" \
	-H "Authorization: Bearer $ticket" -H "Session-Id: $session"; then
	echo "Book was answered" >&2
	exit 1
fi

echo "2. Polling for the order. The clock moves on between two polls."
poll=0 order=
while [ -z "$order" ]; do
	poll=$((poll + 1))
	[ "$poll" -le 10 ] || { echo "the order does not appear" >&2; exit 1; }
	[ "$poll" = 1 ] || control POST /clock '{"advance":"20s"}' >/dev/null
	order=$(post /api/trade/queryOrders "{\"customerReferenceNos\":[\"$reference\"]}" \
		-H "Authorization: Bearer $ticket" | field platformReferenceNo || true)
	echo "  poll $poll: ${order:-nothing}"
done

echo "3. Five minutes later the hotel has confirmed."
control POST /clock '{"advance":"5m"}' >/dev/null
state=$(control GET "/orders/$order" | field state)
echo "  $order is $state"
[ "$state" = confirmed ]

echo "4. The first webhook again. Nobody listens, so each attempt fails."
attempts() { control GET "/webhooks?reference=$reference" | grep -o '"started"' | wc -l; }
event=$(control GET "/webhooks?reference=$reference" | field eventId)
before=$(attempts)
control POST "/webhooks/$event/redeliver" '{}'
control POST /clock '{"advance":"0s"}' >/dev/null # waits for the attempt
after=$(attempts)
echo "  attempts: $before, then $after"
[ "$after" -gt "$before" ]

echo "5. The ledger."
made=$(($(count orders) - orders_before))
echo "  $made order"
[ "$made" = 1 ]
