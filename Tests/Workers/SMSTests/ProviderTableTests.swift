import FoundationEssentials
import JobEngine
import Testing

@testable import SMS

@Suite struct ProviderTableTests {
  private func twilio() throws -> ProviderTable { try Shipped.table("twilio") }

  @Test(
    arguments: [
      (401, "20003", "laneDown PROVIDER_CREDENTIALS"), (403, "20003", "laneDown PROVIDER_CREDENTIALS"),
      (429, "20429", "retry PROVIDER_THROTTLED"), (500, "20500", "unknown PROVIDER_ERROR"),
      (503, "20503", "unknown PROVIDER_ERROR"), (400, "21211", "refused INVALID_NUMBER"),
      (400, "21614", "refused NOT_MOBILE"), (400, "21408", "otherLane REGION_NOT_ENABLED"),
      (403, "21408", "otherLane REGION_NOT_ENABLED"), (400, "21610", "refused OPTED_OUT"),
      (400, "21612", "otherLane NOT_ROUTABLE"), (400, "30001", "retry PROVIDER_THROTTLED"),
      (403, "30002", "laneDown PROVIDER_ACCOUNT"), (400, "30003", "refused UNREACHABLE"),
      (400, "30004", "refused BLOCKED"),
      (400, "30005", "refused UNKNOWN_NUMBER"), (400, "30006", "refused NOT_MOBILE"),
      (400, "30007", "refused FILTERED"),
      (400, "30008", "refused UNDELIVERABLE"), (400, "30010", "refused PRICE_TOO_HIGH"),
      (400, "30012", "refused VALIDITY_TOO_SHORT"), (400, "21606", "otherLane SENDER_NOT_ALLOWED"),
      (400, "99999", "refused PROVIDER_REFUSED"), (422, nil, "refused PROVIDER_REFUSED"),
      (401, nil, "laneDown PROVIDER_CREDENTIALS"), (403, nil, "laneDown PROVIDER_CREDENTIALS"),
      (404, nil, "laneDown PROVIDER_CONFIGURATION"), (302, nil, "laneDown PROVIDER_CONFIGURATION"),
      (429, nil, "retry PROVIDER_THROTTLED"), (408, nil, "unknown PROVIDER_ERROR"),
      (500, nil, "unknown PROVIDER_ERROR"),
      (502, "99999", "unknown PROVIDER_ERROR"), (504, nil, "unknown PROVIDER_ERROR"),
      (199, nil, "unknown PROVIDER_ERROR"),
    ] as [(Int, String?, String)])
  func `Twilio's codes, else the class of the status`(status: Int, code: String?, expected: String) throws {
    #expect(try twilio().classification(status: status, code: code).short == expected)
  }

  @Test func `A message that only this account cannot send goes to another lane`() throws {
    #expect(try twilio().classification(status: 400, code: "21612").short == "otherLane NOT_ROUTABLE")
  }

  @Test func `Retry-After goes with a retry, and makes one of a 503`() throws {
    let table = try twilio()
    func short(_ status: Int, _ code: String?) -> String {
      table.classification(status: status, code: code, retryAfter: .seconds(7)).short
    }
    #expect(short(429, "20429") == "retry PROVIDER_THROTTLED 7")
    #expect(short(503, nil) == "retry PROVIDER_ERROR 7")
    #expect(short(503, "20500") == "unknown PROVIDER_ERROR")
    #expect(short(502, nil) == "unknown PROVIDER_ERROR")
  }

  @Test func `The provider's code goes into the reason, else the status`() throws {
    let table = try twilio()
    #expect(table.classification(status: 400, code: "21610").reason?.providerCode == "21610")
    #expect(table.classification(status: 502).reason?.providerCode == "HTTP 502")
  }

  @Test func `An empty table still tells a refusal from what is open`() {
    let table = ProviderTable()
    #expect(table.classification(status: 418).short == "refused PROVIDER_REFUSED")
    #expect(table.classification(status: 500).short == "unknown PROVIDER_ERROR")
  }

  @Test(
    arguments: [
      ("{", "ends before everything in it is closed"), ("{\n]", "is not valid JSON (line 2)"),
      ("{ codes: {}, codes: {} }", "has a name twice in one object (line 1)"),
      (#"{codes: {"1": {class: "maybe", reason: "X", detail: "y"}}}"#, "codes.1.class is not valid"),
      (#"{codes: {"1": {class: "retry", detail: "y"}}}"#, "codes.1.reason is missing"),
      (#"{statuses: {"200": {class: "retry", reason: "X", detail: "y"}}}"#, "statuses.200 must be an HTTP status"),
      (#"{codes: []}"#, "codes is not of type"),
      (#"{code: {"1": {class: "retry", reason: "X", detail: "y"}}}"#, "code: unknown key (did you mean codes?)"),
      (
        #"{codes: {"1": {clas: "retry", reason: "X", detail: "y"}}}"#, "codes.1.clas: unknown key (did you mean class?)"
      ),
      (#"{receipts: {"1": {class: "retry", reason: "X", detail: "y"}}}"#, "receipts.1.class: unknown key"),
      (#"{codes: {"1": {class: "retry", reason: "X", detail: "y"}}}"#, "statuses is missing"),
      (#"{codes: {}, statuses: {"4xx": {class: "retry", reason: "X", detail: "y"}}}"#, "codes is empty"),
      ("{}", "codes is missing"),
      (
        #"{codes: {"1": {class: "retry", reason: "X", detail: "y"}}, statuses: {"4xx": {class: "retry", reason: "X", detail: "y"}}, receipts: {}}"#,
        "receipts has no effect"
      ),
    ])
  func `A file that is wrong says where`(text: String, expected: String) throws {
    let path = FileManager.default.temporaryDirectory.path + "/table-\(UInt64.random(in: 0 ... .max)).json5"
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let error = #expect(throws: WorkerError.self) { try ProviderTable(file: path) }
    #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
  }
}
