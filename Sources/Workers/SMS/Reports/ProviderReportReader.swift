public import CountersignMessages
public import CountersignTelemetry
public import HTTPServer
public import JobEngine

/// Reads and verifies the delivery reports that a provider sends over HTTP.
public protocol ProviderReportReader: Sendable {
  var methods: [String] { get }

  /// Status that tells the provider that its report was taken. 204 by default.
  var takenStatus: Int { get }

  /// Reads one report, and makes sure that the provider sent it.
  ///
  /// - Parameters:
  ///   - request: the request as it arrived.
  ///   - url: address that the provider was given, with the query that it added.
  ///   - now: time of day.
  func read(_ request: HTTPServerRequest, url: String, now: UnixTime) throws(ReportRefusal) -> ReportReading
}

extension ProviderReportReader {
  public var takenStatus: Int { 204 }
}

/// Content of a delivery report.
public enum ReportReading: Sendable, Hashable {
  /// The message is on its way. Nothing is published.
  case progress
  /// The message has arrived or will not arrive.
  case end(SMSDeliveryReport.State, reference: String?, reason: Reason?, at: UnixTime?)
}

/// Reason to refuse a delivery report. The raw value is a label of metrics.
public enum ReportRefusal: String, Error, Sendable, Hashable, CaseIterable {
  /// The provider's signature, or our own address, is missing or wrong.
  case forged
  /// The report was made too long ago, or is not valid yet.
  case stale
  case malformed
  /// No lane has the name, or its provider does not report.
  case unknownLane = "unknown_lane"
}
