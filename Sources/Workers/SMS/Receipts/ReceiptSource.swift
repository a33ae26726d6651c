import CountersignMessages
import CountersignTelemetry
import HTTPServer
import JobEngine

/// Reads what a provider posts about messages that it took.
protocol ReceiptSource: Sendable {
  /// The methods by which the provider reports.
  var methods: [String] { get }
  /// The status that tells the provider that its report was taken.
  var takenStatus: Int { get }

  /// Reads one report, and makes sure that the provider sent it.
  ///
  /// - Parameters:
  ///   - request: As it arrived.
  ///   - url: The address that the provider was told, with what it added to the query.
  ///   - now: The time.
  func read(_ request: HTTPServerRequest, url: String, now: UnixTime) throws(ReceiptRefusal) -> ReceiptReading
}

extension ReceiptSource {
  var takenStatus: Int { 204 }
}

/// What a report says.
enum ReceiptReading: Sendable, Hashable {
  /// The message is on its way: nothing that anybody waits for.
  case progress
  /// Its end.
  case end(SMSDeliveryReport.State, reference: String?, reason: Reason?, at: UnixTime?)
}

/// Why a report is not believed.
enum ReceiptRefusal: String, Error, Sendable, Hashable, CaseIterable {
  /// The provider's signature, or our own address, is missing or wrong.
  case forged
  /// It was made too long ago, or is not valid yet.
  case stale
  /// It cannot be read.
  case malformed
  /// There is no lane of that name, or its provider does not report.
  case unknownLane = "unknown_lane"
}
