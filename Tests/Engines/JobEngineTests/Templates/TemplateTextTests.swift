import Testing

@testable import JobEngine

@Suite struct TemplateTextTests {
  private static let variables = TemplateVariables(
    [(.code, TemplateRules.code), (.appName, { TemplateRules.line($0, maxLength: 64) })],
    own: [
      TemplateVariable("city"): OwnVariable(maxLength: 10, default: "Berlin"),
      TemplateVariable("plan"): OwnVariable(maxLength: 10),
    ])

  private static let used: Set<TemplateVariable> = [.code, TemplateVariable("city"), TemplateVariable("plan")]

  private func problem(_ source: String) -> String? {
    do {
      _ = try TemplateText(source, Self.variables, lengths: 1...40)
      return nil
    } catch {
      return error.message
    }
  }

  @Test(
    arguments: [
      ("{plam}", "uses {plam} (did you mean {plan}?); known are {code}, {appName}, {city} and {plan}"),
      ("{nothing}", "uses {nothing}; known are {code}, {appName}, {city} and {plan}"),
      ("{code}{plan}", "has {code} beside {plan}"), ("{plan}{city}", "has {plan} beside {city}"),
      ("1{plan}", "has {plan} beside a letter or digit"), ("{plan}s", "has {plan} beside a letter or digit"),
      ("{plan", "has a { without a }"), ("a\nb", "has a control character"), ("", "is empty"),
      (String(repeating: "x", count: 41), "is longer than 40 characters"),
    ])
  func `A text that breaks a rule`(source: String, expected: String) {
    #expect(problem(source)?.hasPrefix(expected) == true, "\(problem(source) ?? "")")
  }

  @Test(arguments: ["{code} {plan}, {city}.", "您的{plan}码", "({plan})", "{code}{appName}", "x{code}y"])
  func `A text that is right`(source: String) {
    #expect(problem(source) == nil)
  }

  @Test func `Values are filled in once, and wrapped`() throws {
    let text = try TemplateText("{plan} for {code}", Self.variables, lengths: 1...40)
    let values = try Self.variables.values(["code": "12"], custom: ["plan": "{code}"], for: Self.used)
    #expect(text.filled(with: values) == "{code} for 12")
    #expect(text.filled(with: values) { "<\($0)>" } == "<{code}> for <12>")
  }

  @Test func `A default stands in for a missing value`() throws {
    let values = try Self.variables.values([:], custom: [:], for: Self.used)
    #expect(values == [TemplateVariable("city"): "Berlin"])
    let given = try Self.variables.values([:], custom: ["city": "Paris"], for: Self.used)
    #expect(given[TemplateVariable("city")] == "Paris")
  }

  @Test(
    arguments: [
      (["code": "99"], "UNKNOWN_VARIABLE: variables.custom.code is not declared in variables.json5"),
      (["a b": "x"], "UNKNOWN_VARIABLE: variables.custom has a name that is not declared in variables.json5"),
      (["plan": "a\nb"], "INVALID_VARIABLE: variables.custom.plan must be 1 to 10 printable characters"),
      (
        Dictionary(uniqueKeysWithValues: (0...8).map { ("v\($0)", "x") }),
        "INVALID_VARIABLE: variables.custom has more than 8 values"
      ),
    ] as [([String: String], String)])
  func `Values that are refused`(custom: [String: String], expected: String) {
    let problem = #expect(throws: TemplateProblem.self) {
      try Self.variables.values([:], custom: custom, for: Self.used)
    }
    #expect(problem?.description.hasPrefix(expected) == true, "\(String(describing: problem))")
  }

  @Test(arguments: [["plam": "x"], ["shop": "see evil.example"], ["plan": "a\nb"], ["city": "4829"]])
  func `Values that the template does not use are ignored, declared or not`(custom: [String: String]) throws {
    let values = try Self.variables.values(["code": "12"], custom: custom, for: [.code])
    #expect(values == [.code: "12", TemplateVariable("city"): "Berlin"])
  }

  @Test func `A name that looks like the missing one is named in its place`() {
    let plan = TemplateVariable("plan")
    let problem = Self.variables.missing(plan, by: "t", custom: ["city": "x", "plam": "x"])
    #expect(
      problem.description
        == "UNKNOWN_VARIABLE: variables.custom.plam is not declared in variables.json5 (did you mean plan?)")
    #expect(Self.variables.missing(plan, by: "t", custom: ["shop": "x"]).code == .missingVariable)
  }

  @Test func `A missing variable is named where it is given`() {
    let own = Self.variables.missing(TemplateVariable("plan"), by: "t")
    #expect(own.description == "MISSING_VARIABLE: variables.custom.plan is missing; template 't' needs it")
    #expect(Self.variables.missing(.code, by: "t").detail == "variables.code is missing; template 't' needs it")
  }
}
