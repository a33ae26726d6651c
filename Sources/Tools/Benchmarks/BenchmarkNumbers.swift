/// Telephone numbers for load: distinct, valid, mobile by the numbering plan, and spread over many prefixes, so that a limit
/// per prefix does not end the run.
///
/// They are numbers of the United States outside the exchange 555. They only ever reach a provider on the loopback interface.
struct BenchmarkNumbers: Sendable {
  private static let areaCodes = [201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218]
  /// Without those that end in 11, which are services, and 555, which is fiction.
  private static let exchanges = (220...919).filter { $0 % 100 != 11 && $0 != 555 }
  private static let linesPerExchange = 10_000

  /// How many there are: more than a run can use.
  static let count = areaCodes.count * exchanges.count * linesPerExchange

  /// The number at an index: neighbours lie in different prefixes.
  /// - Parameter index: 0 ..< `count`; larger ones begin again.
  static func number(at index: Int) -> String {
    let areaCode = areaCodes[index % areaCodes.count]
    let exchange = exchanges[index / areaCodes.count % exchanges.count]
    let line = index / areaCodes.count / exchanges.count % linesPerExchange
    return "+1\(areaCode)\(exchange)\(String(linesPerExchange + line).dropFirst())"
  }
}
