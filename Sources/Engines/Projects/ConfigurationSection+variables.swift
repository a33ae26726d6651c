import CountersignMessages
public import ServiceRuntime

extension ConfigurationSection {
  /// Values of the own variables of templates, by their names. The worker that has the templates judges them more
  /// closely.
  ///
  /// - Parameters:
  ///   - key: key of the section.
  ///   - help: explanation of the key.
  public func customVariables(_ key: String, _ help: String) -> [String: String] {
    let variables = stringMap(key, help)
    for (name, value) in variables.sorted(by: { $0.key < $1.key }) {
      check("\(key).\(name)", CustomVariables.isName(name), "must be named by a letter, then letters and digits")
      check(
        "\(key).\(name)", CustomVariables.isValue(value),
        "must have 1 to \(CustomVariables.maxValueLength) characters without line breaks")
    }
    check(key, variables.count <= CustomVariables.maxCount, "has more than \(CustomVariables.maxCount) variables")
    return variables
  }
}
