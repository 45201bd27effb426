// Words for the answers: made-up names in three scripts.

package answers

type text struct{ en, zh, ar string }

func (t text) i18n() object { return object{"en": t.en, "zh": t.zh, "ar": t.ar} }

type board struct {
	id         string
	name, desc text
}

func (b board) object() object {
	return object{"boardId": b.id, "boardName": b.name.i18n(), "boardDesc": b.desc.i18n()}
}

var (
	currencies      = []string{"USD", "AED", "EUR", "JPY"}
	refundableModes = []string{"full", "partial", "no"}

	hotelNames = []text{
		{"Harbour Light Hotel & Residence", "港灣之光酒店公寓", "فندق وإقامة ضوء الميناء"},
		{"The Three Palms", "三棕榈酒店", "فندق النخلات الثلاث"},
		{"Blue Dune Resort", "蓝沙丘度假村", "منتجع الكثيب الأزرق"},
		{"Old Market Inn", "老市集客栈", "نزل السوق القديم"},
		{"Café Corniche Suites", "滨海大道套房酒店", "أجنحة الكورنيش"},
		{"Lantern Court – Airport", "灯笼庭院机场酒店", "ساحة الفانوس - المطار"},
	}
	roomNames = []text{
		{"Deluxe King Room, City View", "豪华特大床房（城市景观）", "غرفة ديلوكس بسرير كبير مطلة على المدينة"},
		{"Standard Twin Room", "标准双床房", "غرفة قياسية بسريرين"},
		{"Executive Suite with Lounge Access", "行政套房（可使用行政酒廊）", "جناح تنفيذي مع دخول الصالة"},
		{"Family Room, 2 Bedrooms", "家庭房，两间卧室", "غرفة عائلية بغرفتي نوم"},
		{"Superior Double Room \"Sea Side\"", "高级双人房「海滨」", "غرفة مزدوجة سوبيريور \"جهة البحر\""},
	}
	boards = []board{
		{"RO", text{"Room only", "仅客房", "الغرفة فقط"}, text{"No meals are included", "不含餐食", "لا تشمل وجبات"}},
		{"BB", text{"Bed & breakfast", "含早餐", "مبيت وإفطار"}, text{"Breakfast for every guest", "所有住客均含早餐", "الإفطار لجميع الضيوف"}},
		{"HB", text{"Half board", "半膳", "نصف إقامة"}, text{"Breakfast and dinner", "含早餐和晚餐", "الإفطار والعشاء"}},
		{"AI", text{"All inclusive", "全包", "شامل كليًا"}, text{"All meals and some drinks", "含所有餐食及部分饮料", "جميع الوجبات وبعض المشروبات"}},
	}
	comments = []string{
		"", "", "",
		"Check-in from 15:00. A deposit is taken on arrival & returned on departure.",
		"The rate includes a service charge of 10%.\nThe city's fee is not included & is paid at the property.",
		"Non-smoking room asked for <not guaranteed>. Extra beds \"on request\" only; children below 6 stay free of charge in existing beds.",
	}
)
