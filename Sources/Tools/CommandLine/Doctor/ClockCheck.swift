import CountersignEncoding
import CountersignTelemetry
import HTTPClient

/// Processes of several machines share deadlines and expiries.
enum ClockCheck {
  /// A header has whole seconds, and an answer takes a while.
  static let tolerance = Duration.seconds(2)
  /// Difference that makes codes expire visibly too early or too late.
  static let limit = Duration.seconds(15)

  struct Reading: Sendable, Hashable {
    /// `clock of coordinator at http://…`.
    let name: String
    /// Milliseconds by which it is ahead of this machine's.
    let ahead: Int64

    init(_ name: String, ahead: Int64) {
      self.name = name
      self.ahead = ahead
    }

    var isOff: Bool { Duration.milliseconds(abs(ahead)) > tolerance }
  }

  static func time(_ header: String?) -> UnixTime? {
    header.flatMap(HTTPDate.seconds).map(UnixTime.init(seconds:))
  }

  /// If most of several clocks differ from this machine's by the same, this machine's is wrong.
  static func findings(_ clocks: [Reading]) -> [Finding] {
    let off = clocks.filter(\.isOff)
    guard !off.isEmpty else {
      return clocks.isEmpty ? [] : [Finding("clocks", .ok, "\(clocks.count) agree with this machine's")]
    }
    let middle = off.map(\.ahead).sorted()[off.count / 2]
    let same = off.filter { Duration.milliseconds(abs($0.ahead - middle)) <= tolerance }
    guard same.count > 2, same.count * 2 > clocks.count else { return off.map { finding($0.name, ahead: $0.ahead) } }
    return [finding("clock of this machine", ahead: -middle, than: "those of \(same.count) of \(clocks.count) others")]
      + off.filter { !same.contains($0) }.map {
        finding($0.name, ahead: $0.ahead - middle, than: "those of the others")
      }
  }

  private static func finding(_ check: String, ahead: Int64, than others: String = "this machine's") -> Finding {
    Finding(
      check, Duration.milliseconds(abs(ahead)) > limit ? .failed : .warning,
      "is \((abs(ahead) + 500) / 1000) s \(ahead > 0 ? "ahead of" : "behind") \(others)",
      hint: "synchronize the clocks of all machines: timedatectl set-ntp true")
  }
}
