import CommandEngine
import CountersignTelemetry
import Testing

@testable import Coordination

@Suite struct StoredValuesTests {
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
