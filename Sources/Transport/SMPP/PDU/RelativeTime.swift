/// A relative time, `YYMMDDhhmmsstnnR` (SMPP 3.4, 7.1.1), counted from now by the server's clock.
enum RelativeTime {
  /// Maximum. Servers disagree on the length of a month, so days are the largest unit.
  static let maximum: Duration = .seconds(30 * 86_400)

  /// Whole seconds, at least one.
  static func text(_ duration: Duration) -> String {
    let seconds = max(1, min(duration, maximum).components.seconds)
    let fields = [0, 0, seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]
    return fields.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined() + "000R"
  }
}
