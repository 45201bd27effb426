// Structs that several bodies share. The other structs are next to their operation. The sandbox shares no structs with
// the client, so that tests find the client's mistakes. Pointers distinguish absent from zero.

package hotelstaystest

type pageRequest struct {
	PageNum  *int `json:"pageNum"`
	PageSize *int `json:"pageSize"`
	Cursor   *int `json:"cursor"`
}

type occupancyRequest struct {
	AdultCount   *int  `json:"adultCount"`
	ChildrenAges []int `json:"childrenAges"`
}

type stayRequest struct {
	CheckIn         string             `json:"checkIn"`
	CheckOut        string             `json:"checkOut"`
	RoomOccupancies []occupancyRequest `json:"roomOccupancies"`
	CountryCode     string             `json:"countryCode"`
	ResidencyCode   string             `json:"residencyCode"`
	NationalityCode string             `json:"nationalityCode"`
}

type references struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	PlatformReferenceNo string `json:"platformReferenceNo"`
	SupplierReferenceNo string `json:"supplierReferenceNo"`
}

type latlng struct {
	Lat micro `json:"lat"`
	Lng micro `json:"lng"`
}

type coordinator struct {
	Google latlng  `json:"google"`
	Gaode  *latlng `json:"gaode,omitempty"`
}

type phone struct {
	CountryCode   string `json:"countryCode,omitempty"`
	CountryNumber int    `json:"countryNumber,omitempty"`
	Number        string `json:"number,omitempty"`
}

type holder struct {
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
	Email     string `json:"email,omitempty"`
	Phone     *phone `json:"phone,omitempty"`
}

type rate struct {
	CommissionableRate *money `json:"commissionableRate,omitempty"`
	NetRate            money  `json:"netRate"`
	GrossRate          *money `json:"grossRate,omitempty"`
	RespectGrossRate   bool   `json:"respectGrossRate"`
}

type cancelFee struct {
	Until string `json:"until"`
	Fee   money  `json:"fee"`
}

type originalRoomNaming struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Supplier int    `json:"supplier"`
}

type board struct {
	BoardID   string `json:"boardId"`
	BoardName i18n   `json:"boardName"`
	BoardDesc i18n   `json:"boardDesc"`
}

type tax struct {
	Total money     `json:"total"`
	Items []taxItem `json:"items"`
}

type taxItem struct {
	TaxType string `json:"taxType"`
	TaxName string `json:"taxName"`
	Amount  money  `json:"amount"`
	Desc    string `json:"desc"`
}

type exchangeRateSnapshot struct {
	Date string           `json:"date"`
	USD  map[string]micro `json:"usd"`
}

type roomRatePkg struct {
	RatePkgID          string              `json:"ratePkgId"`
	RefundableMode     string              `json:"refundableMode,omitempty"`
	RefundableUntil    string              `json:"refundableUntil,omitempty"`
	CancelFees         []cancelFee         `json:"cancelFees,omitempty"`
	OriginalRoomNaming *originalRoomNaming `json:"originalRoomNaming,omitempty"`
	Rate               rate                `json:"rate"`
	TotalRate          rate                `json:"totalRate"`
	RateComment        string              `json:"rateComment,omitempty"`
	IncludesPackaging  bool                `json:"includesPackaging"`
	CheckIn            string              `json:"checkIn"`
	CheckOut           string              `json:"checkOut"`
	Board              *board              `json:"board,omitempty"`
	Tax                *tax                `json:"tax,omitempty"`
}

type roomKind struct {
	RoomTypeID   string `json:"roomTypeId"`
	RoomTypeName i18n   `json:"roomTypeName"`
	HotelID      string `json:"hotelId"`
}

type room struct {
	roomKind
	Rates []roomRatePkg `json:"rates,omitempty"`
}

// hotelFacts are the fields that a hotel has in every answer, including orders.
type hotelFacts struct {
	DestinationID     string       `json:"destinationId"`
	Name              i18n         `json:"name"`
	Rating            tenth        `json:"rating"`
	Address           i18n         `json:"address"`
	LatlngCoordinator *coordinator `json:"latlngCoordinator"`
	LogoURL           string       `json:"logoURL"`
}

type hotel struct {
	ID              string `json:"id,omitempty"`
	HotelID         string `json:"hotelId,omitempty"`
	PlatformHotelID string `json:"platformHotelId,omitempty"`
	hotelFacts
	MinPrice            *money  `json:"minPrice,omitempty"`
	MinPricesByCurrency []money `json:"minPricesByCurrency,omitempty"`
	IsAvailable         *bool   `json:"isAvailable,omitempty"`
	Rooms               []room  `json:"rooms,omitempty"`
}

type polygon struct {
	Type        string       `json:"type"`
	Coordinates [][][2]micro `json:"coordinates"`
}

type coordinates struct {
	CenterLat       micro    `json:"centerLat"`
	CenterLng       micro    `json:"centerLng"`
	BoundingPolygon *polygon `json:"boundingPolygon,omitempty"`
}

type destinationExtra struct {
	CityName      *i18n `json:"cityName,omitempty"`
	ProvinceName  *i18n `json:"provinceName,omitempty"`
	ContinentName *i18n `json:"continentName,omitempty"`
	HotelCount    int   `json:"hotelCount"`
}

type destination struct {
	ID                    string            `json:"id"`
	Type                  int               `json:"type"`
	Name                  i18n              `json:"name"`
	NameFull              i18n              `json:"nameFull"`
	CountryCode           string            `json:"countryCode"`
	CountryName           i18n              `json:"countryName"`
	ParentDestinationID   string            `json:"parentDestinationId,omitempty"`
	Coordinates           *coordinates      `json:"coordinates,omitempty"`
	Extra                 *destinationExtra `json:"extra,omitempty"`
	DestinationName       *i18n             `json:"destinationName,omitempty"`
	ParentDestinationName *i18n             `json:"parentDestinationName,omitempty"`
}

type pageResponse struct {
	Total   int  `json:"total"`
	HasMore bool `json:"hasMore"`
}

type orderHotel struct {
	HotelID string `json:"hotelId"`
	hotelFacts
}

type guest struct {
	FirstName       string `json:"firstName"`
	LastName        string `json:"lastName"`
	NationalityCode string `json:"nationalityCode,omitempty"`
	Age             *int   `json:"age,omitempty"`
	IsChild         bool   `json:"isChild,omitempty"`
	Gender          string `json:"gender,omitempty"`
	DateOfBirth     string `json:"dateOfBirth,omitempty"`
	PassportNumber  string `json:"passportNumber,omitempty"`
}
