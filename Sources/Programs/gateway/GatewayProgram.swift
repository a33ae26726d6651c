import Gateway
import ServiceRuntime

@main
struct GatewayProgram {
  static func main() async {
    let process = ProcessDescription(
      name: "gateway", summary: "Answers apps' sign-in SDKs over HTTP: turns their calls into commands.")
    await ProcessMain.run(process) { (configuration: GatewayConfiguration, context) in
      try GatewayServices.make(configuration, context)
    }
  }
}
