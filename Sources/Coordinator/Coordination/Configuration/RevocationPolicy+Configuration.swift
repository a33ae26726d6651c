import ServiceRuntime

extension RevocationPolicy {
  /// - Parameter section: the section `revocation`.
  init(_ section: ConfigurationSection) {
    self.init(
      deadline: section.seconds(
        "deadlineSeconds", default: .seconds(3600), in: .seconds(60)...(.seconds(7 * 86_400)),
        "How long Apple may stay out of reach before a revocation is given up."),
      noticeDeadline: section.seconds(
        "noticeDeadlineSeconds", default: .seconds(86_400), in: .seconds(60)...(.seconds(7 * 86_400)),
        "Maximum time for the mail that notifies the owner."),
      noticeTemplate: section.string(
        "noticeTemplate", default: "revocation-notice", "The mail worker's template, where the command names none."),
      retention: section.seconds(
        "retentionSeconds", default: .seconds(30 * 86_400), in: .seconds(600)...(.seconds(365 * 86_400)),
        "How long a revocation that is over can still be asked about, and its token is known."))
  }
}
