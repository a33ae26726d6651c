import TestSupport
import Testing

/// Compares the listings of `docs/adding-a-provider.md` with the files of this target and of the fixtures.
@Suite struct AddingAProviderTests {
  private let page: PageListings

  init() throws { page = try PageListings(of: "docs/adding-a-provider.md") }

  @Test func `Its listings are the files they name, from the first line to the last`() throws {
    #expect(
      page.files == [
        "Tests/Workers/SMSExampleProviderTests/ExampleProvider.swift",
        "Tests/Fixtures/example-provider/providers/example.json5", "Tests/Fixtures/example-provider/sms-worker.json5",
      ])
    #expect(try page.changedFiles == [], "change their listings too")
  }

  @Test func `The paths that it names exist`() {
    #expect(page.paths.count > 5)
    #expect(page.missingPaths == [])
  }
}
