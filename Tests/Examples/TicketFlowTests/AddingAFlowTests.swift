import TestSupport
import Testing

/// Compares the listings of `docs/adding-a-flow.md` with the files of this target.
@Suite struct AddingAFlowTests {
  private let page: PageListings

  init() throws { page = try PageListings(of: "docs/adding-a-flow.md") }

  @Test func `Its listings are the files they name, from the first line to the last`() throws {
    let files = ["VisitFlow", "Ticket", "TicketFlow", "TicketOpening", "TicketVerification", "TicketClosing"]
    #expect(page.files == Set(files.map { "Tests/Examples/TicketFlowTests/\($0).swift" }))
    #expect(try page.changedFiles == [], "change their listings too")
  }

  @Test func `The paths that it names exist`() {
    #expect(page.paths.count > 5)
    #expect(page.missingPaths == [])
  }
}
