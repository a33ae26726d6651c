import ServiceRuntime

/// The option `--variable NAME=VALUE`.
enum CustomVariableOption {
  static func read(_ reader: OptionReader) -> [String: String] {
    var values: [String: String] = [:]
    for text in reader.texts("variable", "NAME=VALUE", "Variable of your own in the template; may be repeated.") {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else {
        reader.fail("--variable must be NAME=VALUE")
        return [:]
      }
      guard values.updateValue(parts[1], forKey: parts[0]) == nil else {
        reader.fail("--variable gives \(parts[0]) twice")
        return [:]
      }
    }
    return values
  }
}
