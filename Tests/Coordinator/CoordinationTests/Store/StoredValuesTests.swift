import SQLite
import Testing

@testable import Coordination

@Suite struct StoredValuesTests {
  @Test("Stored JSON is read back unchanged") func storedJSONIsReadBackUnchanged() throws {
    let text = try StoredJSON.text(["a": "[{"])
    #expect(try StoredJSON.read(text) == ["a": "[{"])
  }

  /// The second one ends the decoder's process.
  @Test("A row that is damaged is an error", arguments: ["", String(repeating: "[", count: 513), "[1]\0"])
  func aRowThatIsDamagedIsAnError(text: String) {
    let error = #expect(throws: DatabaseError.self) { let _: [Int] = try StoredJSON.read(text) }
    #expect(error?.code == .content)
  }
}
