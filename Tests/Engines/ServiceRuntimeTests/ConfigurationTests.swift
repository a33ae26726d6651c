import CountersignTelemetry
import ServiceRuntime
import Testing

private enum Rule: String, CaseIterable {
  case report, resend
}

private struct Sample: Configuration {
  let url: String
  let prefetch: Int
  let ratio: Double
  let timeout: Duration
  let isOn: Bool
  let rule: Rule
  let note: String?
  let regions: [String]
  let gaps: [Int]
  let budgets: [String: Int]
  let password: Secret?
  let templates: String
  let lanes: [String: String]
  let apps: [String]

  init(_ section: ConfigurationSection) {
    let broker = section.section("broker")
    url = broker.string("url", "The broker's address.")
    password = broker.secretFile("passwordFile", "The password.")
    prefetch = section.integer("prefetch", default: 512, in: 1...1000, "Jobs ahead.")
    ratio = section.number("ratio", default: 0.5, in: 0...1, "A ratio.")
    timeout = section.seconds(
      "timeoutSeconds", default: .seconds(10), in: .milliseconds(100)...(.seconds(60)), "Limit.")
    isOn = section.bool("isOn", default: false, "Whether.")
    rule = section.word("onUnknown", default: .report, "What then.")
    note = section.optionalString("note", "A note.")
    regions = section.strings("regions", default: ["US"], "Regions.")
    gaps = section.integers("gaps", default: [30, 60], in: 1...3600, "Gaps.")
    budgets = section.integerMap("budgets", default: ["US": 5], in: 0...100, "Budgets.")
    templates = section.path("templates", default: "templates", "Templates.")
    lanes = Dictionary(
      uniqueKeysWithValues: section.namedSections("lanes", "Lanes.").map {
        ($0.name, $0.section.string("type", "Type."))
      })
    apps = section.sections("apps", "Apps.").map { $0.string("id", "ID.") }
  }
}

@Suite struct ConfigurationTests {
  private func load(_ text: String, _ environment: [String: String] = [:]) throws -> LoadedConfiguration<Sample> {
    var result: LoadedConfiguration<Sample>?
    try withTemporaryDirectory { directory in
      try write(text, to: directory + "/c.json5")
      result = try Sample.load(file: directory + "/c.json5", environment: environment)
    }
    return try #require(result)
  }

  private func problems(_ text: String, _ environment: [String: String] = [:]) -> [String] {
    do {
      _ = try load(text, environment)
      return []
    } catch let error as ConfigurationError {
      return error.problems.map { problem in
        problem.description.split(separator: "/c.json5").last.map { "c.json5" + $0 } ?? ""
      }
    } catch {
      return ["\(error)"]
    }
  }

  @Test func `Values that are absent have defaults`() throws {
    let sample = try load("{ broker: { url: 'amqp://h' } }").content
    #expect(sample.url == "amqp://h")
    #expect(sample.prefetch == 512)
    #expect(sample.timeout == .seconds(10))
    #expect(sample.rule == .report)
    #expect(sample.note == nil)
    #expect(sample.regions == ["US"])
    #expect(sample.gaps == [30, 60])
    #expect(sample.budgets == ["US": 5])
    #expect(sample.password == nil)
  }

  @Test func `Values of the file`() throws {
    let sample = try load(
      """
      { // a comment
        broker: { url: "amqp://h" }, prefetch: 7, ratio: 1, timeoutSeconds: 2.5, isOn: true, onUnknown: "resend",
        note: null, regions: ["DE", "FR"], gaps: [5], budgets: { DE: 1 },
        lanes: { "twilio-eu": { type: "twilio" }, hook: { type: "webhook" } }, apps: [{ id: "b" }, { id: "a" }],
      }
      """
    ).content
    #expect(sample.prefetch == 7)
    #expect(sample.ratio == 1)
    #expect(sample.timeout == .milliseconds(2500))
    #expect(sample.isOn)
    #expect(sample.rule == .resend)
    #expect(sample.note == nil)
    #expect(sample.regions == ["DE", "FR"])
    #expect(sample.gaps == [5])
    #expect(sample.budgets == ["DE": 1])
    #expect(sample.lanes == ["twilio-eu": "twilio", "hook": "webhook"])
    #expect(sample.apps == ["b", "a"])
  }

  @Test func `The environment goes before the file`() throws {
    let sample = try load(
      "{ broker: { url: 'amqp://h' }, prefetch: 7, lanes: { 'twilio-eu': { type: 'a' } }, apps: [{ id: 'x' }], note: 'n' }",
      [
        "COUNTERSIGN_BROKER_URL": "amqp://other", "COUNTERSIGN_PREFETCH": "8", "COUNTERSIGN_TIMEOUT_SECONDS": "0.5",
        "COUNTERSIGN_IS_ON": "yes", "COUNTERSIGN_ON_UNKNOWN": "resend", "COUNTERSIGN_REGIONS": "DE, FR",
        "COUNTERSIGN_LANES_TWILIO_EU_TYPE": "b", "COUNTERSIGN_APPS_0_ID": "y", "COUNTERSIGN_NOTE": "",
      ]
    ).content
    #expect(sample.url == "amqp://other")
    #expect(sample.prefetch == 8)
    #expect(sample.timeout == .milliseconds(500))
    #expect(sample.isOn)
    #expect(sample.rule == .resend)
    #expect(sample.regions == ["DE", "FR"])
    #expect(sample.lanes == ["twilio-eu": "b"])
    #expect(sample.apps == ["y"])
    #expect(sample.note == "n")
  }

  @Test func `Without a file the environment has to do`() throws {
    #expect(try Sample.load(file: nil, environment: ["COUNTERSIGN_BROKER_URL": "amqp://h"]).content.url == "amqp://h")
    #expect(throws: ConfigurationError.self) { try Sample.load(file: nil, environment: [:]) }
  }

  @Test func `Unknown keys come with the nearest name`() {
    let found = problems("{ broker: { url: 'h', pasword: 'x' }, prefetsh: 1, url: 'h', zebra: 1 }")
    #expect(found.contains("c.json5: prefetsh: unknown key (did you mean prefetch?)"))
    #expect(found.contains("c.json5: url: unknown key (did you mean broker.url?)"))
    #expect(found.contains("c.json5: broker.pasword: unknown key; known here are passwordFile, url"))
    #expect(
      found.contains {
        $0.hasPrefix("c.json5: zebra: unknown key; known here are allowReadableSecrets, apps, broker, ")
      })
    #expect(
      problems("{ broker: { url: 'h' }, lanes: { a: { typ: 'x', type: 'y' } } }")
        == ["c.json5: lanes.a.typ: unknown key (did you mean lanes.a.type?)"])
  }

  @Test func `Every problem is named at once and no value is`() throws {
    let found = problems(
      """
      { broker: { url: 5 }, prefetch: "123456", ratio: 2, timeoutSeconds: true, isOn: "123456", onUnknown: "resand",
        note: [], regions: ["x", 123456], gaps: [0], budgets: { X: -1 }, lanes: [], apps: { } }
      """)
    #expect(
      found == [
        "c.json5: broker.url: must be text, not a number",
        "c.json5: prefetch: must be a whole number from 1 to 1000, not text",
        "c.json5: ratio: must be a number from 0 to 1",
        "c.json5: timeoutSeconds: must be a number from 0.1 to 60, not true or false",
        "c.json5: isOn: must be true or false, not text",
        "c.json5: onUnknown: must be one of report, resend (did you mean resend?)",
        "c.json5: note: must be text, not a list",
        "c.json5: regions.1: must be text",
        "c.json5: gaps.0: must be a whole number from 1 to 3600",
        "c.json5: budgets.X: must be a whole number from 0 to 100",
        "c.json5: lanes: must be a section { … }, not a list",
        "c.json5: apps: must be a list of sections [ { … } ], not a section",
      ])
    #expect(!found.joined().contains("123456"))
  }

  @Test func `A wrong variable is named`() {
    #expect(
      problems("{ broker: { url: 'h' } }", ["COUNTERSIGN_PREFETCH": "many"]) == [
        "c.json5COUNTERSIGN_PREFETCH (overrides prefetch): must be a whole number from 1 to 1000"
      ])
  }

  @Test func `A variable that is probably misspelled is a warning; one of another program is none`() throws {
    let loaded = try load(
      "{ broker: { url: 'h' } }", ["COUNTERSIGN_PREFETHC": "7", "COUNTERSIGN_STACK_DIRECTORY": "x", "PREFETHC": "7"])
    #expect(
      loaded.warnings.map(\.text) == [
        "stands for no key (did you mean COUNTERSIGN_PREFETCH, which overrides prefetch?)"
      ])
    #expect(loaded.content.prefetch == 512)
  }

  @Test func `Required keys are named with both ways to set them`() throws {
    try withTemporaryDirectory { directory in
      try write("{}", to: directory + "/c.json5")
      let error = #expect(throws: ConfigurationError.self) {
        try Sample.load(file: directory + "/c.json5", environment: [:])
      }
      #expect(
        error?.description == "\(directory)/c.json5: broker.url: is required: The broker's address. "
          + "Set it in \(directory)/c.json5 or as COUNTERSIGN_BROKER_URL.")
      #expect(error?.exitCode == .configuration)
    }
  }

  @Test(
    arguments: [
      ("{\n a: 1,\n b: \n}", 4), ("{\n a: 1\n b: 2\n}", 3), ("{\n a: {\n  b: 'x,\n }\n}", 3), ("{ a: 1 ]", 1),
      ("{\n // c {\n a: \"}\", /* [ \n */\n b 1,\n}", 5), ("{ a: 1 }\n}", 2),
    ])
  func `Bad syntax is reported with its line`(text: String, line: Int) {
    #expect(problems(text) == ["c.json5:\(line): this line is not valid JSON5"])
  }

  @Test(
    arguments: [
      ("{ a: " + String(repeating: "[", count: 513), "the file nests deeper than 32 levels"),
      ("\u{FEFF}{ a: 1 }", "the file starts with a byte order mark; it must be UTF-8 without one"),
      ("{ a: 1 }\0", "the file holds a NUL byte; it must be UTF-8"),
    ])
  func `A file that may not be read is said`(text: String, problem: String) {
    #expect(problems(text) == ["c.json5: \(problem)"])
  }

  @Test func `A key that is given twice is reported with its line`() {
    #expect(
      problems("{\n broker: { url: 'a' },\n 'broker': { url: 'b' },\n}") == [
        "c.json5:3: this key is in its section twice"
      ])
  }

  @Test(arguments: ["", "{\n a: [1,\n 2\n", "{ a: 1\n", "// nothing"])
  func `A file that ends too early is said`(text: String) {
    #expect(problems(text) == ["c.json5: the file is empty or ends before everything in it is closed"])
  }

  @Test func `A missing file is said`() {
    let error = #expect(throws: ConfigurationError.self) { try Sample.load(file: "/nowhere/c.json5", environment: [:]) }
    #expect(error?.description == "configuration: /nowhere/c.json5 does not exist; create it or name another file")
  }

  @Test func `Secrets come from files beside the configuration`() throws {
    try withTemporaryDirectory { directory in
      try write("{ broker: { url: 'h', passwordFile: 'pw' }, templates: 't' }", to: directory + "/c.json5")
      try write("hunter2\n", to: directory + "/pw")
      var loaded = try Sample.load(file: directory + "/c.json5", environment: [:])
      #expect(loaded.content.password?.reveal() == "hunter2")
      #expect(loaded.content.templates == directory + "/t")
      #expect(loaded.warnings.isEmpty)
      try write("hunter2", to: directory + "/open", mode: 0o644)
      var environment = ["COUNTERSIGN_BROKER_PASSWORD_FILE": directory + "/open"]
      let open = #expect(throws: ConfigurationError.self) {
        try Sample.load(file: directory + "/c.json5", environment: environment)
      }
      #expect(open?.description.contains("chmod 600 \(directory)/open") == true)
      #expect(open?.description.contains("hunter2") == false)
      environment["COUNTERSIGN_ALLOW_READABLE_SECRETS"] = "true"
      loaded = try Sample.load(file: directory + "/c.json5", environment: environment)
      #expect(loaded.warnings.first?.text.contains("can be read by every user") == true)
      try write("\n", to: directory + "/pw")
      let error = #expect(throws: ConfigurationError.self) {
        try Sample.load(file: directory + "/c.json5", environment: [:])
      }
      #expect(error?.description.hasSuffix("\(directory)/pw is empty; write the secret into it") == true)
    }
  }

  @Test func `The keys can be listed`() throws {
    let keys = try Sample.keys()
    #expect(keys.first { $0.path == "broker.passwordFile" }?.variable == "COUNTERSIGN_BROKER_PASSWORD_FILE")
    #expect(keys.first { $0.path == "prefetch" }?.kind == "a whole number from 1 to 1000, default 512")
  }
}
