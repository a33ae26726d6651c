import FoundationEssentials
import TestSupport
import Testing

@testable import JobEngine

@Suite struct OwnVariableTests {
  private func declared(_ text: String?) throws(WorkerError) -> [TemplateVariable: OwnVariable] {
    do {
      let directory = try TemporaryDirectory()
      defer { withExtendedLifetime(directory) {} }
      if let text { try Data(text.utf8).write(to: URL(filePath: directory.path + "/variables.json5")) }
      return try OwnVariable.read(directory: directory.path)
    } catch let error as WorkerError {
      throw error
    } catch {
      throw WorkerError(.unreadable, "\(error)")
    }
  }

  @Test func `A directory without the file declares none`() throws {
    #expect(try declared(nil).isEmpty)
    #expect(try declared("{} // none").isEmpty)
  }

  @Test func `A declaration is read`() throws {
    let found = try declared(
      "{ city: { maxLength: 30, default: 'Berlin' }, plan: { maxLength: 8, allowsLinks: true } }")
    #expect(found.keys.map(\.name).sorted() == ["city", "plan"])
    #expect(found[TemplateVariable("city")] == OwnVariable(maxLength: 30, default: "Berlin"))
    #expect(found[TemplateVariable("plan")]?.allowsLinks == true)
  }

  @Test(
    arguments: [
      ("{ city: { maxLenght: 3 } }", "city.maxLenght: unknown key (did you mean maxLength?)"),
      ("{ city: {} }", "city.maxLength is missing"), ("{ city: { maxLength: 0 } }", "city.maxLength: must be from 1"),
      ("{ city: { maxLength: 201 } }", "city.maxLength: must be from 1 to 200"),
      ("{ code: { maxLength: 3 } }", "code: is the name of a built-in variable"),
      ("{ Code: { maxLength: 3 } }", "Code: is the name of a built-in variable"),
      ("{ androidhash: { maxLength: 3 } }", "is the name of a built-in variable"),
      ("{ 'my city': { maxLength: 3 } }", "my city: is not a name"), ("{ _x: { maxLength: 3 } }", "_x: is not a name"),
      ("{ city: { maxLength: 3, default: 'Berlin' } }", "city.default: must be 1 to 3 printable characters"),
      ("{ city: { maxLength: 30, default: 'b.example' } }", "city.default: has a link, a domain or an @"),
      ("{ city: ", "variables.json5: "),
    ])
  func `A declaration that is wrong is named`(text: String, expected: String) {
    let error = #expect(throws: WorkerError.self) { try declared(text) }
    #expect(error?.message.contains(expected) == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    "Berlin", "Köln", "Shop 24", "Café & Söhne", "クラブ", "O'Neill, Inc.", "z.B. heute", "{code}", "x<b>y",
    "Cafe\u{301} 24", "I ❤\u{FE0F} NY", "five.\u{201C}Six", "(a).so", "六本木", "三井百货千里五", "+.5",
  ])
  func `Values that people have are allowed`(value: String) {
    #expect(OwnVariable(maxLength: 30).problem(with: value) == nil)
  }

  @Test(
    arguments: [
      "", "  ", "a\nb", "a\r", "a\u{2028}b", "a\u{85}b", "a\u{202E}b", "a\u{200F}b", "a\u{200B}b", "a\tb",
      String(repeating: "x", count: 31), "https://evil", "www.evil", "see evil.example", "evil。example", "10.0.0.1",
      "me@bank", "＠bank", "482913", "4829", "4 8 2 9", "4-8-2-9", "4,8,2,9", "１２３４", "٤٨٢٩", "①②③④",
      "evil\u{301}.com", "evil.\u{301}com", "evil\u{FE0F}.ws", "❤.ws", "❤\u{FE0F}.ws", "€.ws", "x\u{20DD}.ws",
      "ht\u{301}tp", "www\u{301}.", "4\u{301}8\u{301}2\u{301}9", "四八二九", "½½½½", "ⅣⅧⅡⅨ",
    ])
  func `Values that write lines, links or codes are refused, and not repeated`(value: String) {
    let problem = OwnVariable(maxLength: 30).problem(with: value)
    #expect(problem != nil)
    if value.count > 5 { #expect(problem?.contains(value) == false) }
  }

  @Test func `A declaration may allow links and numbers, but no lines`() {
    let open = OwnVariable(maxLength: 60, allowsLinks: true, allowsNumbers: true)
    #expect(open.problem(with: "https://example.com/o/4711") == nil)
    #expect(open.problem(with: "call +1 415 555 0123") == nil)
    #expect(open.problem(with: "x\n@evil.example #1") != nil)
    #expect(OwnVariable(maxLength: 60, allowsLinks: true).problem(with: "example.com/4711") != nil)
    #expect(OwnVariable(maxLength: 60, allowsNumbers: true).problem(with: "example.com/4711") != nil)
  }
}
