import Testing

@testable import JobEngine

/// Values of several variables that make one number.
@Suite struct TemplateNumberTests {
  private static let variables = TemplateVariables(
    [(.code, TemplateRules.code), (.appName, { TemplateRules.line($0, maxLength: 64) })],
    own: [
      TemplateVariable("a"): OwnVariable(maxLength: 20), TemplateVariable("b"): OwnVariable(maxLength: 20),
      TemplateVariable("phone"): OwnVariable(maxLength: 20, allowsNumbers: true),
    ])

  private func problem(_ source: String, _ custom: [String: String]) throws -> TemplateProblem? {
    let text = try TemplateText(source, Self.variables, lengths: 1...60)
    let values = try Self.variables.values(
      ["code": "482913", "appName": "App 24"], custom: custom, for: Set(text.variables))
    do throws(TemplateProblem) {
      try Self.variables.checkNumbers(in: [text], values, of: "t")
      return nil
    } catch {
      return error
    }
  }

  @Test(
    arguments: [
      ("{code} {a} {b}", "913", "482"), ("{code}: {a}-{b}", "Nr. 91", "35 x"), ("{code}, {a} \u{2013} {b}", "91", "35"),
      ("{code}-{b}", "x", "12"), ("{b}-{code}", "x", "12"), ("{appName} {b}, {code}", "x", "24"),
      ("{code}. 99 {b}", "x", "12"), ("{code}. {a} {b}", "①②", "五六"), ("{phone} {b} {code}", "x", "12"),
    ])
  func `A number that could be taken for the code is refused`(source: String, a: String, b: String) throws {
    let found = try #require(try problem(source, ["a": a, "b": b, "phone": "030 1234"]))
    #expect(found.code == .invalidVariable)
    #expect(found.detail.contains("makes a number in template 't'"), "\(found)")
  }

  @Test(
    arguments: [
      ("{code} {a} {b}", "91", "3"), ("{code} {a}, {b}", "913", "482"), ("{code} {b}", "x", "24 Hours"),
      ("{b} {code}", "x", "Shop 24"), ("{code}: {phone}", "x", "x"), ("{code}. {a} and {b}", "913", "482"),
      ("{phone}, {b}", "x", "24"), ("{appName} {code}", "x", "x"),
    ])
  func `Numbers that stand apart are allowed`(source: String, a: String, b: String) throws {
    #expect(try problem(source, ["a": a, "b": b, "phone": "030 1234"]) == nil)
  }
}
