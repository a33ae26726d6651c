import CountersignClient
import Foundation

/// Verifies the phone number given as the argument, against the broker `COUNTERSIGN_AMQP_URL` and the simulator
/// `COUNTERSIGN_SIMULATOR_URL`. Ends with 0 when the number is approved.
@main
enum VerifyNumber {
  private static let app = "com.example.app"

  static func main() async {
    do {
      guard CommandLine.arguments.count == 2 else { throw VerificationProblem("usage: VerifyNumber <phone number>") }
      let approved = try await verify(CommandLine.arguments[1])
      print("approved: \(approved.phoneNumber) for \(approved.app) at \(approved.approvedAt.rfc3339)")
    } catch let error as ClientError {
      fail("\(error)\(error.isRetriable ? " (may succeed later)" : "")")
    } catch {
      fail("\(error)")
    }
  }

  private static func verify(_ phoneNumber: String) async throws -> VerificationApproved {
    let simulator = Simulator(url: try variable("COUNTERSIGN_SIMULATOR_URL"))
    let broker = try variable("COUNTERSIGN_AMQP_URL")
    return try await CountersignClient.with(url: broker, name: "client-package") { client in
      try await NumberVerification(client: client, app: app, readCode: simulator.code(sentTo:)).verify(phoneNumber)
    }
  }

  private static func variable(_ name: String) throws -> String {
    guard let value = ProcessInfo.processInfo.environment[name] else { throw VerificationProblem("\(name) is not set") }
    return value
  }

  private static func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("error: \(message)\n".utf8))
    exit(1)
  }
}
