/// Description of the simulator for people: `--help` and `GET /control`.
package enum SimulatorGuide {
  /// Plain text, in lines of at most 100 characters.
  package static let text = """
    Providers
      POST /2010-04-01/Accounts/{sid}/Messages.json   Twilio's Messages API (form, Basic authentication)
      POST /sms/json                                  Vonage's SMS API (form, api_key and api_secret)
      POST /messages                                  MessageBird's REST API (JSON, access key)
      POST / with X-Amz-Target                        AWS End User Messaging, SendTextMessage (JSON, Signature Version 4)
      SMPP 3.4 on a port of its own (smpp.port)       transceiver sessions of one account
      GET  /account/get-balance  /balance             the balances of these two
      POST /webhook/sms                               a receiver of Standard Webhooks of type sms.dispatch
      POST /3/device/{token}                          APNs; the host decides between sandbox and production
      POST /v1/projects/{project}/assessments         reCAPTCHA Enterprise (API key, or access token)
      POST /token                                     Google's token endpoint, for a service account and for codes
      POST /recaptcha/api/siteverify                  reCAPTCHA, the classic interface
      POST /auth/token  /auth/revoke                  Sign in with Apple
      GET  /auth/authorize  /o/oauth2/v2/auth         Apple's and Google's pages
      GET  /v{version}/dialog/oauth                   Facebook's page; its codes go to /v{version}/oauth/access_token
      GET  /oidc/.well-known/openid-configuration     an OpenID provider: /oidc/authorize, token, userinfo and keys
      GET  /auth/keys  /oauth2/v3/certs               the keys of Apple's and Google's ID tokens
      GET  /.well-known/oauth/openid/jwks/            the keys of Facebook's Limited Login
      GET  /tokeninfo  /v1/userinfo                   the user of an access token of Google's
      GET  /v{version}/debug_token  /v{version}/me    the user of an access token of Facebook's (appsecret_proof)
    APNs and Apple need TLS and HTTP/2: put a front before them, as deploy/up does.

    Received messages
      GET    /control/sms?to=+14155550123   the messages for a number, oldest first: a JSON array of
                                            {to, from, body, receivedAt, provider, id, deliveries}
      GET    /control/sms?limit=100         the newest messages (10,000 without limit)
      GET    /control/sms/summary           counts
      GET    /control/pushes?deviceToken=   {deviceToken, headers, payload, receivedAt}
      GET    /control/revocations?code=     {clientID, token, tokenTypeHint, code, isKnown, receivedAt}; also ?token=
      GET    /control/google/tokens         {"given": 3}: number of access tokens issued
      POST   /control/mails                 {"to", "body"}: a mail that the mail server of the stack has received
      GET    /control/mails?to=&limit=100   {to, body, receivedAt}, oldest first
      DELETE /control/sms  /control/pushes  /control/revocations  /control/mails   forgets them

    Answers
      POST   /control/devices               {"deviceToken": "…", "topic": "com.example.app"}: registers a device; pushes to
                                            any other are refused (BadDeviceToken)
             topic        the app that the token is for, or * for any. Required.
             environment  production, sandbox or any: where the token is valid (production)
             reason       Apple's reason for refusing pushes; status, for a reason that is not Apple's; timestamp
                          (milliseconds); count, the number of pushes to refuse (all)
      DELETE /control/devices               removes all devices
      POST   /control/receipts              {"to": "+14155550123", "status": "undelivered", "errorCode": 30005}
             Delivery reports of Twilio, Vonage and MessageBird, sent to the address in the message, and of
             the SMPP server, sent on its session: status delivered (default), undelivered, failed or none;
             delaySeconds after the message (0.2); times, the number of times that the report is sent (1);
             errorCode of the provider; form, Vonage's format: query (default), form, json, or token, which
             is json signed by a JWT.
      DELETE /control/receipts              reports all messages as delivered again
      POST   /control/recaptcha             {"token": "…", "score": 0.3, "action": "…", "invalidReason": "…",
                                            "bundleID": "…", "tollFraudRisk": 0.8}
             Tokens that need no order: high, low, fraud and expired, then, optionally, a dot and the action, a dot and
             any unique text, an @ and the app: low.verify_phone.4711@com.example.app. The answer has only the parts that
             the token or the order has. Each token can be assessed once. Answers about a phone number have the risk of
             toll fraud if it was ordered (fraud, tollFraudRisk) or the project has SMS defense
             (recaptcha.assessesPhoneFraud).
      DELETE /control/google/tokens         revokes all access tokens
      POST   /control/apple/codes           {"clientID": "…", "redirectURI": "…"}: an authorization code, valid once and for
                                            five minutes; subject and email of its user, whom the ID token of
                                            /auth/token names; lifetimeSeconds; error, with which its exchange fails

    Identities
      POST   /control/apple/id-tokens       {"clientID": "…", "subject": "…"} -> {"idToken"}; emailVerified (true),
                                            isPrivateEmail (of a relay address: true), nonceSupported (true),
                                            textBooleans: "true" in place of true
      POST   /control/google/id-tokens      {"clientID": "…", "subject": "…"} -> {"idToken", "accessToken"}; azp, hd, name,
                                            picture, emailVerified (true)
      POST   /control/facebook/access-tokens  {"appID": "…", "subject": "…"} -> {"accessToken", "idToken"}, the latter
                                            as of Limited Login; name, picture
      POST   /control/oidc/id-tokens        {"clientID": "…", "subject": "…"} -> {"idToken", "accessToken"}; azp, name,
                                            picture, emailVerified (true)
             For all of them: email, nonce, issuer, issuedAt (seconds since 1970), expiresIn (seconds, also negative),
             keyID (of a key that is not published), signature: none, HS256 (under the public key) or foreign (by a key
             that is not published, under the name of one that is).
      POST   /control/apple/notifications   {"clientID": "…", "type": "consent-revoked", "subject": "…"} -> {"payload"}
             type         email-disabled, email-enabled, consent-revoked or account-deleted
             email, isPrivateEmail; happenedAt (milliseconds), the time of the event; id, which a repetition has
             too; list: the event as a list of one; forged, and the fields of all tokens above. Sent to url, if
             there is one, until the answer is 200: delaySeconds (0), duplicate: twice
      POST   /control/{apple,google,facebook,oidc}/users   the user who consents next at the page, with the fields of
                                            the tokens above (Apple: name too); an empty nonce for a token without
                                            one; error, to refuse; userinfoSubject, of the access token; loginHint,
                                            for requests with that login_hint alone. Without an order it is
                                            somebody new, with the address of login_hint. Pages lead back to
                                            pages.redirectURIs alone.
      GET    /control/authorizations?state= what the pages were asked: {provider, parameters, receivedAt}
      POST   /control/oidc/metadata         {"userinfo_endpoint": null, "issuer": "…"}: changes members of discovery
      DELETE /control/identities            forgets ordered users and changes of discovery
      POST   /control/{apple,google,facebook,oidc}/keys  {"rotate": true} -> {"keyIDs"}: signs with a new key and publishes it
                                            alone; keepOld: beside the old ones; strangers: number of further keys
                                            in the set, which sign nothing (0)

    Faults
      POST   /control/faults                {"fault": "429", "provider": "twilio", "count": 3, "retryAfterSeconds": 2}
      GET    /control/faults                lists them
      DELETE /control/faults[/{id}]         ends all, or one

      fault              latency, a status from 400 to 599, reset (TCP reset after the request was read),
                         close (the same, in the orderly way), hang (no answer), huge (16 MiB). Required.
      provider           twilio, webhook, vonage, messagebird, aws, smpp, apns, recaptcha, google-token,
                         apple-token, apple-revoke, apple-keys, apple-page, google-keys, google-user, google-page,
                         facebook-keys, facebook-graph, facebook-page, oidc-discovery, oidc-keys, oidc-page,
                         oidc-token, oidc-user or any (any)
      count              requests it hits (1; any number when there is a probability)
      probability        0 to 1, the probability of hitting a request (1)
      delaySeconds       delay before it fails; required for latency (0; hang: 600)
                         SMPP answers 429 as throttled, 503 as a full queue, another 5xx as a system error, 4xx as refused
      retryAfterSeconds  sent as Retry-After with a status
      to                 only messages for this number; device token, reCAPTCHA token, service account, client ID or
                         app ID
      processed          whether the message is accepted nevertheless, before the delay (false; latency: after it)

    Refused numbers (Twilio's test numbers, for all providers)
      +15005550001 invalid (21211)        +15005550002 not routable (21612)   +15005550003 region not enabled (21408)
      +15005550004 opted out (21610)      +15005550009 landline (21614)
      From +15005550001 is invalid (21212), +15005550007 not a sender (21606), +15005550008 has a full queue (21611).

    Health
      GET /livez  /readyz  /metrics

    """
}
