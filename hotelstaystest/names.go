// The names of the generated world, in three languages.

package hotelstaystest

import "strconv"

type i18n struct {
	En string `json:"en,omitempty"`
	Zh string `json:"zh,omitempty"`
	Ar string `json:"ar,omitempty"`
}

type countryFacts struct {
	code      string
	name      i18n
	continent int
	lat, lng  int // degrees
}

var continents = []i18n{
	{"Asia", "亚洲", "آسيا"},
	{"Europe", "欧洲", "أوروبا"},
	{"Africa", "非洲", "أفريقيا"},
	{"North America", "北美洲", "أمريكا الشمالية"},
	{"South America", "南美洲", "أمريكا الجنوبية"},
	{"Oceania", "大洋洲", "أوقيانوسيا"},
}

var countries = []countryFacts{
	{"AE", i18n{"United Arab Emirates", "阿拉伯联合酋长国", "الإمارات العربية المتحدة"}, 0, 24, 54},
	{"CN", i18n{"China", "中国", "الصين"}, 0, 31, 112},
	{"FR", i18n{"France", "法国", "فرنسا"}, 1, 46, 2},
	{"SA", i18n{"Saudi Arabia", "沙特阿拉伯", "المملكة العربية السعودية"}, 0, 24, 45},
	{"JP", i18n{"Japan", "日本", "اليابان"}, 0, 36, 138},
	{"US", i18n{"United States", "美国", "الولايات المتحدة"}, 3, 39, -98},
	{"GB", i18n{"United Kingdom", "英国", "المملكة المتحدة"}, 1, 53, -1},
	{"KW", i18n{"Kuwait", "科威特", "الكويت"}, 0, 29, 47},
	{"EG", i18n{"Egypt", "埃及", "مصر"}, 2, 27, 30},
	{"TH", i18n{"Thailand", "泰国", "تايلاند"}, 0, 15, 101},
	{"TR", i18n{"Türkiye", "土耳其", "تركيا"}, 0, 39, 35},
	{"IN", i18n{"India", "印度", "الهند"}, 0, 22, 79},
	{"ES", i18n{"Spain", "西班牙", "إسبانيا"}, 1, 40, -4},
	{"IT", i18n{"Italy", "意大利", "إيطاليا"}, 1, 43, 12},
	{"DE", i18n{"Germany", "德国", "ألمانيا"}, 1, 51, 10},
	{"GR", i18n{"Greece", "希腊", "اليونان"}, 1, 39, 22},
	{"MA", i18n{"Morocco", "摩洛哥", "المغرب"}, 2, 32, -6},
	{"KE", i18n{"Kenya", "肯尼亚", "كينيا"}, 2, 0, 38},
	{"ZA", i18n{"South Africa", "南非", "جنوب أفريقيا"}, 2, -29, 25},
	{"BR", i18n{"Brazil", "巴西", "البرازيل"}, 4, -10, -53},
	{"AR", i18n{"Argentina", "阿根廷", "الأرجنتين"}, 4, -34, -64},
	{"CA", i18n{"Canada", "加拿大", "كندا"}, 3, 54, -105},
	{"MX", i18n{"Mexico", "墨西哥", "المكسيك"}, 3, 23, -102},
	{"AU", i18n{"Australia", "澳大利亚", "أستراليا"}, 5, -25, 134},
}

// The parts of invented names.
var (
	placeFirst = []i18n{
		{"North", "北", "شمال"}, {"South", "南", "جنوب"}, {"East", "东", "شرق"}, {"West", "西", "غرب"},
		{"Upper", "上", "أعلى"}, {"Lower", "下", "أسفل"}, {"New", "新", "الجديدة"}, {"Old", "古", "القديمة"},
		{"Golden", "金", "الذهبية"}, {"Silver", "银", "الفضية"}, {"White", "白", "البيضاء"}, {"Green", "绿", "الخضراء"},
	}
	placeSecond = []i18n{
		{"Harbour", "港", "ميناء"}, {"Bay", "湾", "خليج"}, {"River", "河", "نهر"}, {"Hills", "丘", "تلال"},
		{"Springs", "泉", "ينابيع"}, {"Valley", "谷", "وادي"}, {"Market", "市", "سوق"}, {"Gate", "门", "بوابة"},
		{"Island", "岛", "جزيرة"}, {"Garden", "园", "حديقة"}, {"Lake", "湖", "بحيرة"}, {"Palms", "棕", "نخيل"},
	}
	hotelKinds = []i18n{
		{"Hotel", "酒店", "فندق"}, {"Resort", "度假村", "منتجع"}, {"Suites", "套房酒店", "أجنحة"},
		{"Inn", "客栈", "نزل"}, {"Residence", "公寓酒店", "إقامة"}, {"Palace", "宫殿酒店", "قصر"},
	}
	roomKinds = []i18n{
		{"Standard Room", "标准房", "غرفة قياسية"}, {"Superior Room", "高级房", "غرفة سوبيريور"},
		{"Deluxe Room", "豪华房", "غرفة ديلوكس"}, {"Family Room", "家庭房", "غرفة عائلية"},
		{"Junior Suite", "普通套房", "جناح صغير"}, {"Suite", "套房", "جناح"},
	}
)

// placeName returns the name of a place. The name is unique in its level. Only the names of countries are real.
func (w *world) placeName(p place) i18n {
	if p.kind == country {
		return countries[p.index].name
	}
	combinations := len(placeFirst) * len(placeSecond)
	// 31 and combinations have no common factor. So the indexes 0 to combinations-1 get different combinations, and thus
	// different names.
	combination := p.index*31 + w.pick(combinations, forPlaceName, int(p.kind))
	first := placeFirst[combination%len(placeFirst)]
	second := placeSecond[combination/len(placeFirst)%len(placeSecond)]
	n := i18n{first.En + " " + second.En, first.Zh + second.Zh, second.Ar + " " + first.Ar}
	if p.kind == province {
		n = i18n{n.En + " Province", n.Zh + "省", "محافظة " + n.Ar}
	}
	if repeat := p.index / combinations; repeat > 0 {
		n = n.plus(" " + strconv.Itoa(repeat+1))
	}
	return n
}

// fullName returns a place's name with the names of the places above it.
func (w *world) fullName(p place) i18n {
	n := w.placeName(p)
	for up, ok := w.parent(p); ok; up, ok = w.parent(up) {
		above := w.placeName(up)
		n = i18n{n.En + ", " + above.En, above.Zh + n.Zh, n.Ar + "، " + above.Ar}
	}
	return n
}

// hotelName returns a hotel's name. It ends with a number that makes it unique in its city.
func (w *world) hotelName(hotel int) i18n {
	h := w.hash(forHotelName, hotel)
	first := placeFirst[h%uint64(len(placeFirst))]
	kind := hotelKinds[h>>8%uint64(len(hotelKinds))]
	where := w.placeName(place{city, w.cityOf(hotel)})
	number := " " + strconv.Itoa(hotel%w.size.HotelsPerCity+1)
	name := i18n{
		En: first.En + " " + where.En + " " + kind.En,
		Zh: first.Zh + where.Zh + kind.Zh,
		Ar: kind.Ar + " " + where.Ar + " " + first.Ar,
	}
	return name.plus(number)
}

func (w *world) hotelAddress(hotel int) i18n {
	where := w.fullName(place{city, w.cityOf(hotel)})
	number := strconv.Itoa(1 + w.pick(300, forPosition, hotel))
	return i18n{
		En: number + " Main Road, " + where.En,
		Zh: where.Zh + "大街" + number + "号",
		Ar: "الشارع الرئيسي " + number + "، " + where.Ar,
	}
}

func (n i18n) plus(suffix string) i18n { return i18n{n.En + suffix, n.Zh + suffix, n.Ar + suffix} }
