import CommandEngine
import Testing

@testable import Coordination

@Suite struct StoredValuesTests {
  @Test("Stored JSON is read back unchanged") func storedJSONIsReadBackUnchanged() throws {
    let text = try StoredJSON.text(["a": "[{"])
    #expect(try StoredJSON.read(text) == ["a": "[{"])
  }

  /// The second one ends the decoder's process.
  @Test("A record that is damaged is an error", arguments: ["", String(repeating: "[", count: 513), "[1]\0"])
  func aRecordThatIsDamagedIsAnError(text: String) {
    let error = #expect(throws: StoreError.self) { let _: [Int] = try StoredJSON.read(text) }
    #expect(error?.code == .content)
  }
}
