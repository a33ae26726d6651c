import FoundationEssentials
import TestSupport
import Testing

/// No source reads JSON with anything but the guarded reader: a text that the decoder sees first can end the process.
@Suite struct OneDoorTests {
  private static let sources = URL(filePath: Repository.root).appending(path: "Sources")
  private static let door = "Base/Encoding/JSON/"
  private static let forbidden = ["JSONDecoder", "JSONSerialization"]

  @Test func `Nothing else names the decoder`() throws {
    let files = try FileManager.default.subpathsOfDirectory(atPath: Self.sources.path).filter { $0.hasSuffix(".swift") }
    #expect(files.contains(Self.door + "JSONReader.swift"))
    for file in files where !file.hasPrefix(Self.door) {
      let text = try String(contentsOf: Self.sources.appending(path: file), encoding: .utf8)
      for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        #expect(
          !Self.forbidden.contains { line.contains($0) },
          "Sources/\(file):\(number + 1) reads JSON past the door: use JSONReader of CountersignEncoding")
      }
    }
  }
}
