import PhoneNumbers
import Testing

@Suite struct RegionNameTests {
  @Test(arguments: ["US", "GB", "DE", "BR", "NG", "XK", "AQ", "+883", "+1"])
  func `Codes of the standard are accepted`(name: String) {
    #expect(RegionName.problem(with: name) == nil)
  }

  @Test(
    arguments: [("UK", "GB"), ("EL", "GR"), ("uk", "GB"), ("gb", "GB"), ("usa", "US"), ("JA", "JP"), ("de", "DE")])
  func `A mistake is corrected`(name: String, meant: String) throws {
    let problem = try #require(RegionName.problem(with: name))
    #expect(problem.hasPrefix("\(name) is not a region"))
    #expect(problem.hasSuffix("did you mean \(meant)?"))
  }

  @Test(
    arguments: ["QQ", "ZZ", "", "*", "+", "+12345", "+1a", "Germany", "001", "\u{0391}\u{0391}"])
  func `Unknown regions are reported`(name: String) throws {
    let problem = try #require(RegionName.problem(with: name))
    #expect(!problem.contains("did you mean"))
  }
}
