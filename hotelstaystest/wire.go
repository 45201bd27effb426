// Request and response bodies. They share nothing with the client, so that mistakes in
// the client's structs show.

package hotelstaystest

import (
	"github.com/hotelstays/hotelstays-go/types"
)

// Requests. Pointers distinguish absent from zero.

type ticketRequest struct {
	AppKey    string `json:"appKey"`
	AppSecret string `json:"appSecret"`
	TTL       *int   `json:"ttl"`
}

type oauthRequest struct {
	GrantType    string  `json:"grant_type"`
	ClientID     string  `json:"client_id"`
	ClientSecret string  `json:"client_secret"`
	Scope        *string `json:"scope"`
}

type pageRequest struct {
	PageNum  *int `json:"pageNum"`
	PageSize *int `json:"pageSize"`
	Cursor   *int `json:"cursor"`
}

type destinationsRequest struct {
	CountryCode         string `json:"countryCode"`
	ParentDestinationID string `json:"parentDestinationId"`
	Include             string `json:"include"`
	FilterEmptyCities   *bool  `json:"filterEmptyCities"`
	MinHotelCount       *int   `json:"minHotelCount"`
}

type hotelsMetadataRequest struct {
	DestinationID string       `json:"destinationId"`
	CountryCode   string       `json:"countryCode"`
	Page          *pageRequest `json:"page"`
}

type hotelStaticDetailRequest struct {
	HotelID string `json:"hotelId"`
}

type hotelIDListRequest struct {
	HotelIDs   []int  `json:"hotelIds"`
	RegionCode *int   `json:"regionCode"`
	RegionName string `json:"regionName"`
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

type hotelListRequest struct {
	stayRequest
	pageRequest
	HotelIDs         []string `json:"hotelIds"`
	DestinationID    string   `json:"destinationId"`
	DestinationName  string   `json:"destinationName"`
	MaxRatesPerHotel *int     `json:"maxRatesPerHotel"`
	SortBy           string   `json:"sortBy"`
}

type hotelRatesRequest struct {
	stayRequest
	HotelID string `json:"hotelId"`
}

type checkAvailRequest struct {
	RatePkgID string `json:"ratePkgId"`
}

type bookRequest struct {
	CustomerReferenceNo string         `json:"customerReferenceNo"`
	RatePkgID           string         `json:"ratePkgId"`
	Holder              *holder        `json:"holder"`
	Guests              []guestRequest `json:"guests"`
	CallbackURL         string         `json:"callbackUrl"`
}

type guestRequest struct {
	RoomIndex *int `json:"roomIndex"`
	guest
}

type queryOrdersRequest struct {
	CustomerReferenceNos []string            `json:"customerReferenceNos"`
	SupplierReferenceNos []string            `json:"supplierReferenceNos"`
	CheckInTimeWindow    *timeWindow         `json:"checkInTimeWindow"`
	CheckOutTimeWindow   *timeWindow         `json:"checkOutTimeWindow"`
	BookingTimeWindow    *timeWindow         `json:"bookingTimeWindow"`
	FreeCancelTimeWindow *timeWindow         `json:"freeCancelTimeWindow"`
	CancelledTimeWindow  *timeWindow         `json:"cancelledTimeWindow"`
	StatusList           []types.OrderStatus `json:"statusList"`
}

type references struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	PlatformReferenceNo string `json:"platformReferenceNo"`
	SupplierReferenceNo string `json:"supplierReferenceNo"`
}

type orderVoucherRequest struct {
	references
	IncludeDocument bool `json:"includeDocument"`
}

type cancelRequest struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	SupplierReferenceNo string `json:"supplierReferenceNo"`
	Reason              string `json:"reason"`
}

// Shared values.

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

// hotelFacts are the fields of a hotel in every answer, also in an order.
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

// Response payloads.

type ticketResponse struct {
	Ticket string `json:"ticket"`
}

type oauthResponse struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"`
	Scope       string `json:"scope"`
}

type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

type destinationsResponse struct {
	Destinations []destination `json:"destinations"`
}

type pageResponse struct {
	Total   int  `json:"total"`
	HasMore bool `json:"hasMore"`
}

type hotelsMetadataResponse struct {
	HotelsMetadata []hotel      `json:"hotelsMetadata"`
	Page           pageResponse `json:"page"`
}

type hotelStaticDetailResponse struct {
	Hotel *hotel `json:"hotel,omitempty"`
}

type hotelIDItem struct {
	HotelID string `json:"hotelId"`
}

type hotelIDListResponse struct {
	HotelIDList []hotelIDItem `json:"hotelIdList"`
}

type searchBasic struct {
	Destination  *destination       `json:"destination,omitempty"`
	SessionID    string             `json:"sessionId"`
	StatusRemark string             `json:"statusRemark,omitempty"`
	Notices      []string           `json:"notices,omitempty"`
	EmptyReason  *types.EmptyReason `json:"emptyReason,omitempty"`
}

type hotelListResponse struct {
	List  []hotel     `json:"list"`
	Basic searchBasic `json:"basic"`
	pageResponse
}

type hotelRatesResponse struct {
	Rooms []room `json:"rooms"`
}

type remarkBasic struct {
	StatusRemark string `json:"statusRemark"`
}

type checkAvailResponse struct {
	Status               int                   `json:"status"`
	StatusRemark         string                `json:"statusRemark,omitempty"`
	Basic                *remarkBasic          `json:"basic,omitempty"`
	RoomRatePkg          *roomRatePkg          `json:"roomRatePkg,omitempty"`
	ExchangeRateSnapshot *exchangeRateSnapshot `json:"exchangeRateSnapshot,omitempty"`
}

type bookResponse struct {
	HotelOrder *orderBody `json:"hotelOrder"`
}

type queryOrdersResponse struct {
	Orders []*orderBody `json:"orders"`
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

type orderGuest struct {
	RoomIndex int `json:"roomIndex"`
	guest
}

type refundItem struct {
	RefundTime  string `json:"refundTime"`
	RefundPrice money  `json:"refundPrice"`
}

type orderRoom struct {
	roomKind
	roomRatePkg
	RoomIndex  int          `json:"roomIndex"`
	Guests     []orderGuest `json:"guests"`
	RefundInfo []refundItem `json:"refundInfo,omitempty"`
}

type orderBody struct {
	Status              types.OrderStatus `json:"status"`
	StatusRemark        string            `json:"statusRemark,omitempty"`
	CheckIn             string            `json:"checkIn"`
	CheckOut            string            `json:"checkOut"`
	NightCount          int               `json:"nightCount"`
	RoomCount           int               `json:"roomCount"`
	BookingTime         string            `json:"bookingTime"`
	HotelConfirmNo      string            `json:"hotelConfirmNo,omitempty"`
	Holder              holder            `json:"holder"`
	PlatformReferenceNo string            `json:"platformReferenceNo"`
	CustomerReferenceNo string            `json:"customerReferenceNo"`
	rate
	CancelTime          string      `json:"cancelTime,omitempty"`
	CancelReason        string      `json:"cancelReason,omitempty"`
	RefundedPrice       *money      `json:"refundedPrice,omitempty"`
	Supplier            int         `json:"supplier"`
	SupplierReferenceNo string      `json:"supplierReferenceNo"`
	Hotel               *orderHotel `json:"hotel,omitempty"`
	Rooms               []orderRoom `json:"rooms,omitempty"`
}

type voucherSignature struct {
	Alg       string `json:"alg"`
	KeyID     string `json:"keyId"`
	Digest    string `json:"digest"`
	Signature string `json:"signature"`
	SignedAt  string `json:"signedAt"`
}

type voucherContent struct {
	ContentType string `json:"contentType"`
	ByteSize    int    `json:"byteSize"`
	Base64      string `json:"base64"`
}

type voucherBody struct {
	VoucherNumber string            `json:"voucherNumber"`
	Version       int               `json:"version"`
	IssuedAt      string            `json:"issuedAt"`
	ContentType   string            `json:"contentType"`
	ByteSize      int               `json:"byteSize"`
	VerifyURL     string            `json:"verifyUrl"`
	DownloadURL   string            `json:"downloadUrl"`
	ExpiresIn     int               `json:"expiresIn"`
	Signature     *voucherSignature `json:"signature,omitempty"`
	Content       *voucherContent   `json:"content,omitempty"`
}

type orderVoucherResponse struct {
	references
	Status  string       `json:"status"`
	Voucher *voucherBody `json:"voucher,omitempty"`
}

type cancelResponse struct {
	ServiceFee money             `json:"serviceFee"`
	Status     types.OrderStatus `json:"status"`
}
