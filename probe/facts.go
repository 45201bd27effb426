// Facts as Go.

package probe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// FactsGo returns the facts as a Go expression, for hotelstays.WithServiceFacts.
func (r *Report) FactsGo() string {
	var b strings.Builder
	b.WriteString("hotelstays.ServiceFacts{\n")
	states, known := "", r.Facts.OrderStates
	for _, row := range []struct {
		name string
		list []types.OrderStatus
	}{{"Confirmed:", known.Confirmed}, {"Pending:", known.Pending}, {"Cancelled:", known.Cancelled}} {
		if len(row.list) > 0 {
			states += fmt.Sprintf("\t\t%-10s []types.OrderStatus{%s},\n", row.name, numbersGo(row.list))
		}
	}
	if states != "" {
		b.WriteString("\tOrderStates: hotelstays.OrderStates{\n" + states + "\t},\n")
	}
	if len(r.Facts.RefusalCodes) > 0 {
		b.WriteString("\tRefusalCodes: map[hotelstays.Operation][]int{\n")
		for _, op := range slices.Sorted(maps.Keys(r.Facts.RefusalCodes)) {
			fmt.Fprintf(&b, "\t\thotelstays.Op%s: {%s},\n", op, numbersGo(r.Facts.RefusalCodes[op]))
		}
		b.WriteString("\t},\n")
	}
	if r.Facts.NullOrders {
		b.WriteString("\tNullOrders: true,\n")
	}
	return strings.Replace(b.String()+"}", "{\n}", "{}", 1)
}

func numbersGo[T ~int](list []T) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(list)), ", "), "[]")
}
