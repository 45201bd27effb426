package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOutlineShowsNoValue(t *testing.T) {
	for text, want := range map[string]string{
		``: ``, `<html lang="en">Bad gateway [12]</html>`: `<html lang="en">Bad gateway [number]`,
		`[ERR] {x} [if lt IE 7]`: `[ERR] {x} [if lt IE 7]`,
		`{}`:                     `{}`, `[]`: `[]`, `[[]]`: `[[]]`, `{"a":{}}`: `{a:{}}`,
		` {"code" : 0, "data":[{"b":"CANARY"},{"CANARY":1}]} CANARY`: ` {code:number,data:[{b:string}]}`,
		`{"x":null,"y":true,"z":-1.5}`:                               `{x:null,y:boolean,z:number}`,
		`{"data":{"orders":[{"holder":{"email":"CANARY`:              `{data:{orders:[{holder:{email:…`,
		`{"a":1,"b":CANARY}`:                                         `{a:number,b:…`,
		`{"a":1,"CANARY`:                                             `{a:number…`,
		`{"a":[1,CANARY]}`:                                           `{a:[number…`,
		`["CANARY`:                                                   `[…`,
		`[-15550199,1]`:                                              `[number]`,
		`"CANARY"`:                                                   `string`,
		` "CANARY`:                                                   `…`,
		"\ufeff{\"a\":\"CANARY\"}":                                   "\ufeff{a:string}",
		`)]}',` + "\n" + `{"a":"CANARY"}`:                            `)]}',` + "\n{a:string}",
		`callback({"a":"CANARY"})`:                                   `callback({a:string}`,
		`<pre>{&quot;a&quot;:&quot;CANARY&quot;}`:                    `<pre>{…`,
		`upstream: {\"a\":\"CANARY\"}`:                               `upstream: {…`,
		`{"a@b":1,"+49155":2,"X1":[],"` + strings.Repeat("a", 33) + `":[],"\u0061":[],"a_b":[]}`: `{*:number,*:number,*:[],*:[],*:[],a_b:[]}`,
		strings.Repeat("[", 4000): strings.Repeat("[", 4000) + "…",
	} {
		got := Outline([]byte(text))
		assert.Equal(t, want, got, text)
		assert.NotContains(t, got, "CANARY")
	}
}
