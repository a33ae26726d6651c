import PhoneNumbers
import Testing

@Suite struct RegionNameTests {
  @Test("Codes of the standard are accepted", arguments: ["US", "GB", "DE", "BR", "NG", "XK", "AQ", "+883", "+1"])
  func codesOfTheStandardAreAccepted(name: String) {
    #expect(RegionName.problem(with: name) == nil)
  }

  @Test(
    "A mistake is corrected",
    arguments: [("UK", "GB"), ("EL", "GR"), ("uk", "GB"), ("gb", "GB"), ("usa", "US"), ("JA", "JP"), ("de", "DE")])
  func aMistakeIsCorrected(name: String, meant: String) throws {
    let problem = try #require(RegionName.problem(with: name))
    #expect(problem.hasPrefix("\(name) is no region"))
    #expect(problem.hasSuffix("did you mean \(meant)?"))
  }

  @Test(
    "Unknown regions are reported",
    arguments: ["QQ", "ZZ", "", "*", "+", "+12345", "+1a", "Germany", "001", "\u{0391}\u{0391}"])
  func unknownRegionsAreReported(name: String) throws {
    let problem = try #require(RegionName.problem(with: name))
    #expect(!problem.contains("did you mean"))
  }
}
