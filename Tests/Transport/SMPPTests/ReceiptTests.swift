import Testing

@testable import SMPP

@Suite struct ReceiptTests {
  private func read(
    _ text: String, esmClass: UInt8 = 4, parameters: [(UInt16, [UInt8])] = [], _ notation: MessageIDNotation = .same
  ) throws -> SMPPReceipt? {
    SMPPReceipt(
      try #require(Sample.delivered(Sample.delivery(text, esmClass: esmClass, parameters: parameters))), notation)
  }

  @Test(
    arguments: [
      (
        "id:0123456789 sub:001 dlvrd:001 submit date:1507010812 done date:1507010812 stat:DELIVRD err:000 text:hi",
        SMPPReceipt(messageID: "0123456789", state: .delivered, errorCode: "000") as SMPPReceipt?
      ),
      ("ID:7f3a Stat:UNDELIV Err:011 Text:", SMPPReceipt(messageID: "7f3a", state: .undeliverable, errorCode: "011")),
      ("id:a stat:EXPIRED", SMPPReceipt(messageID: "a", state: .expired)),
      ("id:a stat:REJECTD err:", SMPPReceipt(messageID: "a", state: .rejected)),
      ("id:a stat:ENROUTE", SMPPReceipt(messageID: "a", state: .enroute)),
      ("id:a stat:ACCEPTD", SMPPReceipt(messageID: "a", state: .accepted)),
      ("id:a stat:UNKNOWN", SMPPReceipt(messageID: "a", state: .unknown)),
      ("id:a stat:DELETED", SMPPReceipt(messageID: "a", state: .deleted)),
      // What the sender wrote does not count.
      ("id:a stat:UNDELIV text:id:b stat:DELIVRD", SMPPReceipt(messageID: "a", state: .undeliverable)),
      ("text:id:b stat:DELIVRD", nil), ("stat:DELIVRD", nil), ("id:a", nil), ("id: stat:DELIVRD", nil),
      ("id:a stat:WHATEVER", nil), ("", nil),
    ])
  func `The text of a receipt`(_ text: String, _ receipt: SMPPReceipt?) throws {
    #expect(try read(text) == receipt)
  }

  @Test func `Optional parameters count before the text`() throws {
    let receipt = try read(
      "id:1 stat:UNDELIV err:1",
      parameters: [(0x001E, Array("two\0".utf8)), (0x0427, [2]), (0x0423, [3, 0, 9])])
    #expect(receipt == SMPPReceipt(messageID: "two", state: .delivered, errorCode: "1"))
    let bare = try read(
      "", esmClass: 0, parameters: [(0x001E, Array("two".utf8)), (0x0427, [5]), (0x0423, [3, 0, 9])])
    #expect(bare == SMPPReceipt(messageID: "two", state: .undeliverable, errorCode: "9"))
  }

  @Test func `A receipt whose text is a payload`() throws {
    let receipt = try read("", parameters: [(0x0424, Array("id:1 stat:DELIVRD err:000".utf8))])
    #expect(receipt?.messageID == "1")
  }

  @Test(arguments: [0x00, 0x08, 0x10] as [UInt8])
  func `Texts that resemble a receipt are not read as one`(_ esmClass: UInt8) throws {
    #expect(try read("id:1 stat:DELIVRD", esmClass: esmClass) == nil)
  }

  @Test(
    arguments: [
      (MessageIDNotation.same, "1F", "31", "1F", "31"), (.hexInResponses, "0000001F", "31", "31", "31"),
      (.hexInReceipts, "31", "0x", "31", "0x"), (.hexInReceipts, "0031", "1f", "31", "31"),
      (.hexInResponses, "not-a-number", "31", "not-a-number", "31"),
      (.hexInResponses, "FFFFFFFFFFFFFFFFF", "31", "FFFFFFFFFFFFFFFFF", "31"),
    ])
  func `IDs in two number systems`(
    _ notation: MessageIDNotation, _ response: String, _ receipt: String, _ first: String, _ second: String
  ) {
    #expect(notation.ofResponse(response) == first)
    #expect(notation.ofReceipt(receipt) == second)
  }
}
