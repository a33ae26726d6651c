import ServiceRuntime

extension WorkerUsers {
  /// - Parameter section: the section `workers`.
  init(_ section: ConfigurationSection) {
    self.init()
    func read(_ key: String, _ users: inout [String]) {
      users = section.strings(
        key, default: users, "Users of the broker whose results are believed: those of \(key)-workers.")
      section.check(
        key, !users.isEmpty && !users.contains(""), "must name at least one user, and none that is empty")
    }
    read("sms", &sms)
    read("push", &push)
    read("mail", &mail)
    read("revocation", &revocation)
  }
}
