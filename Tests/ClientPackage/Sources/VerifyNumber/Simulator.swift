import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The simulated providers: they tell which SMS they received.
struct Simulator: Sendable {
  let url: String

  private struct SMS: Decodable {
    var body: String
  }

  private static let timeout = Duration.seconds(30)
  private static let codeLength = 6

  @Sendable func code(sentTo phoneNumber: String) async throws -> String {
    let end = ContinuousClock.now + Self.timeout
    while ContinuousClock.now < end {
      if let sms = try await received(by: phoneNumber).last { return try Self.code(in: sms.body) }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw VerificationProblem("no SMS to \(phoneNumber) within \(Self.timeout)")
  }

  private func received(by phoneNumber: String) async throws -> [SMS] {
    let query = phoneNumber.replacing("+", with: "%2B")
    guard let address = URL(string: "\(url)/control/sms?to=\(query)") else {
      throw VerificationProblem("COUNTERSIGN_SIMULATOR_URL is not a URL: \(url)")
    }
    let (body, _) = try await URLSession.shared.data(from: address)
    return try JSONDecoder().decode([SMS].self, from: body)
  }

  private static func code(in text: String) throws -> String {
    let runs = text.split { !("0"..."9").contains($0) }
    guard let code = runs.first(where: { $0.count == codeLength }) else {
      throw VerificationProblem("the SMS has no code of \(codeLength) digits")
    }
    return String(code)
  }
}
