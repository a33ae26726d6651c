import FoundationEssentials
import TestSupport
import Testing

/// Compares the listings of `docs/adding-a-provider.md` with the files of this target and of the fixtures.
@Suite struct AddingAProviderTests {
  private struct Listing {
    let file: String
    let text: String
  }

  @Test func `Its listings are the files they name, from the first line to the last`() throws {
    let listings = try listings()
    let files = Set(listings.map(\.file))
    #expect(
      files == [
        "Tests/Workers/SMSExampleProviderTests/ExampleProvider.swift",
        "Tests/Fixtures/example-provider/providers/example.json5", "Tests/Fixtures/example-provider/sms-worker.json5",
      ])
    for file in files {
      let shown = listings.filter { $0.file == file }.map(\.text).joined(separator: "\n")
      #expect(shown == (try read(file)), "\(file) has changed: change its listings too")
    }
  }

  @Test func `The paths that it names exist`() throws {
    let words = try read("docs/adding-a-provider.md").split(separator: "`").map(String.init)
    let paths = words.filter { $0.hasPrefix("Sources/") || $0.hasPrefix("Tests/") || $0.hasPrefix("Config/") }
    #expect(paths.count > 5)
    for path in paths {
      #expect(FileManager.default.fileExists(atPath: Repository.root + "/" + path), "\(path)")
    }
  }

  private func listings() throws -> [Listing] {
    let begin = "<!-- file: "
    return try read("docs/adding-a-provider.md").split(separator: begin).dropFirst().map { section in
      let file = String(section.prefix { $0 != " " })
      let lines = section.split(separator: "\n", omittingEmptySubsequences: false)
      let listing = lines.dropFirst(2).prefix { !$0.hasPrefix("```") }
      return Listing(file: file, text: listing.map { $0 + "\n" }.joined())
    }
  }

  private func read(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: Repository.root + "/" + path)), as: UTF8.self)
  }
}
