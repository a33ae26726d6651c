import Accounts
import ServiceRuntime

@main
struct AccountsProgram {
  static func main() async {
    let process = ProcessDescription(
      name: "accounts", summary: "Holds accounts and sessions: signs users in, and makes their tokens.")
    await ProcessMain.run(process) { (configuration: AccountsConfiguration, context) in
      try await AccountsServices.make(configuration, context)
    }
  }
}
