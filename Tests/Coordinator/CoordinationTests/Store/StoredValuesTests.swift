import CommandEngine
import Testing

@testable import Coordination

@Suite struct StoredValuesTests {
  @Test func `Stored JSON is read back unchanged`() throws {
    let text = try StoredJSON.text(["a": "[{"])
    #expect(try StoredJSON.read(text) == ["a": "[{"])
  }

  /// The second one ends the decoder's process.
  @Test(arguments: ["", String(repeating: "[", count: 513), "[1]\0"])
  func `A record that is damaged is an error`(text: String) {
    let error = #expect(throws: StoreError.self) { let _: [Int] = try StoredJSON.read(text) }
    #expect(error?.code == .content)
  }

  @Test(
    arguments: [AppProofRecords.kind, AssessmentRecords.kind], ["", "a b", "ä", String(repeating: "x", count: 129)])
  func `A text that is no record's ID is a fault of the content, which names the kind and not the text`(
    kind: RecordKind, text: String
  ) {
    let error = #expect(throws: StoreError.self) { try RecordID(stored: kind, text) }
    #expect(error?.fault == .content)
    #expect(
      error?.message == "a text is not a record's ID (\(kind.name)): those have 1 to 128 visible ASCII characters")
  }
}
