import CountersignAMQP
import CountersignMessages
import TestSupport
import Testing

@testable import Coordination

/// Variables of the template's own: constants of the app, and values of the service that starts a verification.
@Suite struct StartVariablesTests {
  private func rules() -> CoordinatorRules {
    Bench.rules { rules in
      for app in [Bench.app, Bench.recaptchaApp] {
        rules.apps[app]?.variables = ["city": "Berlin", "team": "Support"]
        rules.apps[app]?.startVariables = ["shop", "city"]
      }
    }
  }

  private func start(_ variables: [String: String]?, app: String = Bench.app) -> StartVerification {
    var command = StartVerification(phoneNumber: Bench.number, app: app)
    command.variables = variables
    return command
  }

  private func custom(_ bench: Bench) throws -> [[String: String]?] {
    try bench.jobs().map { job in
      guard case .template(_, _, let variables) = job.job.content else { return nil }
      return variables.custom
    }
  }

  @Test func `An app without variables sends none, and takes none`() async throws {
    let bench = try await Bench()
    _ = try await bench.start()
    #expect(try custom(bench) == [nil])
    let error = try await bench.error(start(["shop": "Corner"]))
    #expect(error.code == .invalidArgument && error.field == "variables.shop")
  }

  @Test func `Constants of the app and values of the start stand in the job, bound to its code`() async throws {
    let bench = try await Bench(rules())
    _ = try await bench.ask(start(["shop": "Corner", "city": "Paris"]))
    #expect(try custom(bench) == [["shop": "Corner", "city": "Paris", "team": "Support"]])
    // The seal opens with these values only.
    #expect(try bench.jobs().first?.code.utf8.count == 6)
  }

  @Test(
    arguments: [
      (nil, "variables.shop", "variables.shop is missing"), ([:], "variables.shop", "variables.shop is missing"),
      (["shop": "Corner", "team": "Evil"], "variables.team", "not among startVariables"),
      (["shpo": "Corner"], "variables.shpo", "did you mean shop?"), (["a b": "x"], "variables", "not among"),
      (["shop": "a\nb"], "variables.shop", "without line breaks"), (["shop": ""], "variables.shop", "1 to 200"),
      (["shop": String(repeating: "x", count: 201)], "variables.shop", "1 to 200"),
    ] as [([String: String]?, String, String)])
  func `Values that are refused before anything is sent`(
    variables: [String: String]?, field: String, text: String
  ) async throws {
    let bench = try await Bench(rules())
    let error = try await bench.error(start(variables))
    #expect(error.code == .invalidArgument && error.field == field)
    #expect(error.reason == (text.contains("is missing") ? "MISSING_VARIABLE" : nil))
    #expect(error.message.contains(text), "\(error.message)")
    #expect(try bench.jobs().isEmpty)
  }

  @Test func `The same message ID with other values is another command`() async throws {
    let bench = try await Bench(rules())
    let first = try await bench.ask(start(["shop": "Corner"]), id: "m")
    #expect(try await bench.ask(start(["shop": "Corner"]), id: "m").body == first.body)
    #expect(try await bench.error(start(["shop": "Other"]), id: "m").field == "message_id")
  }

  @Test func `A code that is sent again has the values of the latest start`() async throws {
    let bench = try await Bench(rules())
    _ = try await bench.ask(start(["shop": "Corner"]))
    bench.clock.advance(by: .seconds(30))
    _ = bench.sink.takePublished()
    _ = try await bench.ask(start(["shop": "Other"]))
    #expect(try custom(bench) == [["shop": "Other", "city": "Berlin", "team": "Support"]])
  }

  @Test func `A start of another requester that causes no SMS changes no text`() async throws {
    let rules = Bench.rules { rules in
      rules.apps[Bench.app]?.variables = ["city": "Berlin"]
      rules.apps[Bench.app]?.startVariables = ["city"]
    }
    let bench = try await Bench(rules)
    _ = try await bench.ask(start(nil))
    var other = start(["city": "Paris"])
    other.requester = "another"
    _ = bench.sink.takePublished()
    _ = try await bench.ask(other)
    #expect(try custom(bench).isEmpty)
    bench.clock.advance(by: .seconds(30))
    _ = try await bench.ask(start(nil))
    #expect(try custom(bench) == [["city": "Berlin"]])
  }

  @Test func `The SMS that another requester's start causes has its values only`() async throws {
    let bench = try await Bench(rules())
    _ = try await bench.ask(start(["shop": "Corner", "city": "Rome"]))
    bench.clock.advance(by: .seconds(30))
    _ = bench.sink.takePublished()
    var other = start(["shop": "Other"])
    other.requester = "another"
    _ = try await bench.ask(other)
    #expect(try custom(bench) == [["shop": "Other", "city": "Berlin", "team": "Support"]])
  }

  @Test func `A start that waits for its proof keeps its values`() async throws {
    let bench = try await Bench(rules())
    var command = bench.startCommand(Bench.captcha("t"), app: Bench.recaptchaApp)
    command.variables = ["shop": "Corner"]
    await bench.deliver([try bench.message(command)])
    let id = try #require(try bench.published(RecaptchaAssessJob.self).first?.id)
    _ = bench.sink.takePublished()
    try await bench.finish(RecaptchaAssessJob.self, id, .accepted)
    #expect(try custom(bench).last == ["shop": "Corner", "city": "Berlin", "team": "Support"])
  }
}
