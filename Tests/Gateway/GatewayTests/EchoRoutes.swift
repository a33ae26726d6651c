import CountersignMessages
import Projects

@testable import Gateway

enum EchoRoutes {
  static func make(_ rules: GatewayRules, _ broker: Broker) -> [Route] {
    [
      .v1("signUp", .post, "accounts:signUp", old: "signupNewUser", waitsFor: .accounts, echo),
      .v1("getProjectConfig", .get, "projects", old: "getProjectConfig", waitsFor: .gateway, echo),
      .v2("getRecaptchaConfig", .get, "recaptchaConfig", waitsFor: .gateway, echo),
      .token(echo),
      .open("keys", ["\(HostPrefix.keys)/service_accounts/v1/jwk/keys"]) { _ in
        var answer = CallAnswer()
        answer.maxAge = 3_600
        return answer
      },
      .development("reset", .delete, "accounts", echo),
    ] + Route.notOffered
  }

  static func echo(_ call: Call) throws(ProtocolError) -> CallAnswer {
    var answer = CallAnswer()
    answer.put("call", call.name)
    answer.put("project", call.projectOrNil?.id)
    answer.put("app", call.app?.id)
    answer.put("address", call.client.address)
    answer.put("locale", call.client.locale)
    answer.put("instance", call.client.field.instance)
    answer.put("phoneNumber", try call.body.text("phoneNumber"))
    answer.put("grantType", try call.body.text("grantType"))
    answer.put("clientType", try call.query.text("clientType"))
    return answer
  }
}

extension GatewayBench {
  static func echo(
    isDevelopment: Bool = false, proxies: [String] = [], project: Project = GatewayBench.project
  ) throws -> GatewayBench {
    try GatewayBench(
      project: project, isDevelopment: isDevelopment, proxies: proxies,
      routes: { rules, broker in EchoRoutes.make(rules, broker) })
  }

  static let signUp = "/identitytoolkit.googleapis.com/v1/accounts:signUp"
  static let token = "/securetoken.googleapis.com/v1/token"
}
