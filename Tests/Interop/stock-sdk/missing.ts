// Parts of the Firebase JavaScript SDK that the build in the wheel has no source of: its enumerations, whose values the
// compiler writes where they are used, and what no page of that build uses. Written here anew, after its documentation; all
// else that the tests run is the SDK's own code. stock_sdk.py makes a file of each section. A module that is not here and not
// in the wheel holds types alone, or is used by nothing that the tests call.

// --- @firebase/component/src/types.ts
export enum InstantiationMode { LAZY = "LAZY", EAGER = "EAGER", EXPLICIT = "EXPLICIT" }
export enum ComponentType { PUBLIC = "PUBLIC", PRIVATE = "PRIVATE", VERSION = "VERSION" }

// --- @firebase/auth/src/model/enums.ts
export enum ProviderId {
  ANONYMOUS = "anonymous", CUSTOM = "custom", FACEBOOK = "facebook.com", FIREBASE = "firebase", GITHUB = "github.com",
  GOOGLE = "google.com", PASSWORD = "password", PHONE = "phone", TWITTER = "twitter.com",
}
export enum SignInMethod {
  ANONYMOUS = "anonymous", EMAIL_LINK = "emailLink", EMAIL_PASSWORD = "password", FACEBOOK = "facebook.com",
  GITHUB = "github.com", GOOGLE = "google.com", PHONE = "phone", TWITTER = "twitter.com",
}
export enum OperationType { LINK = "link", REAUTHENTICATE = "reauthenticate", SIGN_IN = "signIn" }

// --- @firebase/auth/src/model/popup_redirect.ts
export enum AuthEventType {
  LINK_VIA_POPUP = "linkViaPopup", LINK_VIA_REDIRECT = "linkViaRedirect", REAUTH_VIA_POPUP = "reauthViaPopup",
  REAUTH_VIA_REDIRECT = "reauthViaRedirect", SIGN_IN_VIA_POPUP = "signInViaPopup", SIGN_IN_VIA_REDIRECT = "signInViaRedirect",
  UNKNOWN = "unknown", VERIFY_APP = "verifyApp",
}
export enum GapiOutcome { ACK = "ACK", ERROR = "ERROR" }

// --- @firebase/auth/src/platform_browser/messagechannel/index.ts
export enum _TimeoutDuration { ACK = 50, COMPLETION = 3000, LONG_ACK = 800 }
export enum _Status { ACK = "ack", DONE = "done" }
export enum _EventType { KEY_CHANGED = "keyChanged", PING = "ping" }
export enum _MessageError {
  CONNECTION_CLOSED = "connection_closed", CONNECTION_UNAVAILABLE = "connection_unavailable",
  INVALID_RESPONSE = "invalid_response", TIMEOUT = "timeout", UNKNOWN = "unknown_error", UNSUPPORTED_EVENT = "unsupported_event",
}

// --- @firebase/auth/src/model/public_types.ts
export const ActionCodeOperation = {
  EMAIL_SIGNIN: "EMAIL_SIGNIN", PASSWORD_RESET: "PASSWORD_RESET", RECOVER_EMAIL: "RECOVER_EMAIL",
  REVERT_SECOND_FACTOR_ADDITION: "REVERT_SECOND_FACTOR_ADDITION", VERIFY_AND_CHANGE_EMAIL: "VERIFY_AND_CHANGE_EMAIL",
  VERIFY_EMAIL: "VERIFY_EMAIL",
};

// --- @firebase/app/src/firebaseServerApp.ts
export class FirebaseServerAppImpl {}

// --- @firebase/auth/src/mfa/mfa_info.ts
import { AuthErrorCode } from "../core/errors";
import { _fail } from "../core/util/assert";
// A second factor as an app sees it. The server tells the kind by the field that is there.
export const MultiFactorInfoImpl = {
  _fromServerResponse(auth, entry) {
    const { mfaEnrollmentId: uid, displayName, enrolledAt } = entry;
    const info = { uid, displayName, enrollmentTime: new Date(enrolledAt).toUTCString() };
    if ("phoneInfo" in entry) return { ...info, factorId: "phone", phoneNumber: entry.phoneInfo };
    return "totpInfo" in entry ? { ...info, factorId: "totp" } : _fail(auth, AuthErrorCode.INTERNAL_ERROR);
  },
};

// --- @firebase/auth/src/mfa/mfa_session.ts
export enum MultiFactorSessionType { ENROLL = "enroll", SIGN_IN = "signin" }
export const MultiFactorSessionImpl = {
  _fromIdtoken: (credential, user) => ({ type: MultiFactorSessionType.ENROLL, credential, user }),
  _fromMfaPendingCredential: (credential) => ({ type: MultiFactorSessionType.SIGN_IN, credential }),
};

// --- @firebase/auth/src/mfa/mfa_assertion.ts
import { MultiFactorSessionType } from "./mfa_session";
export class MultiFactorAssertionImpl {
  constructor(enroll, signIn) { Object.assign(this, { enroll, signIn }); }
  _process(auth, { type, credential }, displayName) {
    const isEnrollment = type === MultiFactorSessionType.ENROLL;
    return isEnrollment ? this.enroll(auth, credential, displayName) : this.signIn(auth, credential);
  }
}

// --- @firebase/auth/src/platform_browser/mfa/assertions/phone.ts
import { finalizeEnrollPhoneMfa } from "../../../api/account_management/mfa";
import { finalizeSignInPhoneMfa } from "../../../api/authentication/mfa";
import { MultiFactorAssertionImpl } from "../../../mfa/mfa_assertion";
export class PhoneMultiFactorGenerator {
  static FACTOR_ID = "phone";
  static assertion(credential) {
    const phoneVerificationInfo = credential._makeVerificationRequest();
    return new MultiFactorAssertionImpl(
      (auth, idToken, displayName) => finalizeEnrollPhoneMfa(auth, { idToken, displayName, phoneVerificationInfo }),
      (auth, mfaPendingCredential) => finalizeSignInPhoneMfa(auth, { mfaPendingCredential, phoneVerificationInfo }));
  }
}

// --- @firebase/auth/src/mfa/assertions/totp.ts
import { finalizeEnrollTotpMfa, startEnrollTotpMfa } from "../../api/account_management/mfa";
import { finalizeSignInTotpMfa } from "../../api/authentication/mfa";
import { MultiFactorAssertionImpl } from "../mfa_assertion";
export class TotpMultiFactorGenerator {
  static FACTOR_ID = "totp";
  static async generateSecret({ user: { auth }, credential: idToken }) {
    const { totpSessionInfo } = await startEnrollTotpMfa(auth, { idToken, totpEnrollmentInfo: {} });
    return new TotpSecret(auth, totpSessionInfo);
  }
  static assertionForEnrollment(secret, verificationCode) {
    const totpVerificationInfo = { sessionInfo: secret.sessionInfo, verificationCode };
    return new MultiFactorAssertionImpl(
      (auth, idToken, displayName) => finalizeEnrollTotpMfa(auth, { idToken, displayName, totpVerificationInfo }));
  }
  static assertionForSignIn(mfaEnrollmentId, verificationCode) {
    const totpVerificationInfo = { verificationCode };
    return new MultiFactorAssertionImpl(undefined, (auth, mfaPendingCredential) =>
      finalizeSignInTotpMfa(auth, { mfaPendingCredential, mfaEnrollmentId, totpVerificationInfo }));
  }
}
export class TotpSecret {
  constructor(auth, info) {
    this.auth = auth;
    this.sessionInfo = info.sessionInfo;
    this.secretKey = info.sharedSecretKey;
    this.hashingAlgorithm = info.hashingAlgorithm;
    this.codeLength = info.verificationCodeLength;
    this.codeIntervalSeconds = info.periodSec;
    this.enrollmentCompletionDeadline = new Date(info.finalizeEnrollmentTime).toUTCString();
  }
  generateQrCodeUrl(account = this.auth.currentUser.email, issuer = this.auth.name) {
    const { secretKey, hashingAlgorithm, codeLength } = this;
    return `otpauth://totp/${issuer}:${account}?secret=${secretKey}&issuer=${issuer}&algorithm=${hashingAlgorithm}&digits=${codeLength}`;
  }
}

// --- @firebase/auth/src/mfa/mfa_resolver.ts
import { AuthErrorCode } from "../core/errors";
import { UserCredentialImpl } from "../core/user/user_credential_impl";
import { _assert } from "../core/util/assert";
import { OperationType } from "../model/enums";
import { MultiFactorInfoImpl } from "./mfa_info";
import { MultiFactorSessionImpl } from "./mfa_session";
export function getMultiFactorResolver(auth, { customData: { operationType, _serverResponse = {} }, user }) {
  const { mfaPendingCredential, mfaInfo = [], ...first } = _serverResponse;
  _assert(operationType && mfaPendingCredential, auth, AuthErrorCode.ARGUMENT_ERROR);
  const session = MultiFactorSessionImpl._fromMfaPendingCredential(mfaPendingCredential);
  return {
    session,
    hints: mfaInfo.map((entry) => MultiFactorInfoImpl._fromServerResponse(auth, entry)),
    async resolveSignIn(assertion) {
      // The answer to the first factor, with the tokens of the second one in it.
      const { idToken, refreshToken } = await assertion._process(auth, session);
      const answer = { ...first, idToken, refreshToken };
      if (operationType === OperationType.REAUTHENTICATE) return UserCredentialImpl._forOperation(user, operationType, answer);
      const credential = await UserCredentialImpl._fromIdTokenResponse(auth, operationType, answer);
      await auth._updateCurrentUser(credential.user);
      return credential;
    },
  };
}

// --- @firebase/auth/src/core/util/providers.ts
export const providerDataAsNames = (data: { providerId?: string }[]) =>
  new Set(data.map((entry) => entry.providerId).filter((name) => name));

// --- @firebase/auth/src/api/authentication/sign_up.ts
import { Endpoint, HttpMethod, _performSignInRequest } from "../index";
export const signUp = (auth, request) => _performSignInRequest(auth, HttpMethod.POST, Endpoint.SIGN_UP, request);

// --- @firebase/auth/src/core/strategies/anonymous.ts
import { signUp } from "../../api/authentication/sign_up";
import { OperationType } from "../../model/enums";
import { UserCredentialImpl } from "../user/user_credential_impl";
export async function signInAnonymously(auth) {
  await auth._initializationPromise;
  const answer = await signUp(auth, { returnSecureToken: true });
  const credential = await UserCredentialImpl._fromIdTokenResponse(auth, OperationType.SIGN_IN, answer, true);
  await auth._updateCurrentUser(credential.user);
  return credential;
}

// --- @firebase/auth/src/api/authentication/custom_token.ts
import { Endpoint, HttpMethod, _performSignInRequest } from "../index";
export const signInWithCustomToken = (auth, request) =>
  _performSignInRequest(auth, HttpMethod.POST, Endpoint.SIGN_IN_WITH_CUSTOM_TOKEN, request);

// --- @firebase/auth/src/core/strategies/custom_token.ts
import { signInWithCustomToken as send } from "../../api/authentication/custom_token";
import { OperationType } from "../../model/enums";
import { UserCredentialImpl } from "../user/user_credential_impl";
export async function signInWithCustomToken(auth, token) {
  const answer = await send(auth, { token, returnSecureToken: true });
  const credential = await UserCredentialImpl._fromIdTokenResponse(auth, OperationType.SIGN_IN, answer);
  await auth._updateCurrentUser(credential.user);
  return credential;
}

// --- @firebase/auth/src/core/strategies/email.ts
import * as api from "../../api/authentication/email_and_password";
import { ActionCodeOperation } from "../../model/public_types";
import { _setActionCodeSettingsOnRequest } from "./action_code_settings";
async function send(user, call, fields, settings) {
  const request = { idToken: await user.getIdToken(), ...fields };
  if (settings) _setActionCodeSettingsOnRequest(user.auth, request, settings);
  const { email } = await call(user.auth, request);
  if (email !== user.email) await user.reload();
}
export const sendEmailVerification = (user, settings) =>
  send(user, api.sendEmailVerification, { requestType: ActionCodeOperation.VERIFY_EMAIL }, settings);
export const verifyBeforeUpdateEmail = (user, newEmail, settings) =>
  send(user, api.verifyAndChangeEmail, { requestType: ActionCodeOperation.VERIFY_AND_CHANGE_EMAIL, newEmail }, settings);

// --- @firebase/auth/src/core/strategies/email_link.ts
import { RecaptchaActionName, RecaptchaAuthProvider, RecaptchaClientType } from "../../api";
import * as api from "../../api/authentication/email_and_password";
import { ActionCodeOperation } from "../../model/public_types";
import { handleRecaptchaFlow } from "../../platform_browser/recaptcha/recaptcha_enterprise_verifier";
import { ActionCodeURL } from "../action_code_url";
import { EmailAuthProvider } from "../providers/email";
import { _setActionCodeSettingsOnRequest } from "./action_code_settings";
import { signInWithCredential } from "./credential";
export async function sendSignInLinkToEmail(auth, email, settings) {
  const request = { requestType: ActionCodeOperation.EMAIL_SIGNIN, email, clientType: RecaptchaClientType.WEB };
  _setActionCodeSettingsOnRequest(auth, request, settings);
  await handleRecaptchaFlow(
    auth, request, RecaptchaActionName.GET_OOB_CODE, api.sendSignInLinkToEmail, RecaptchaAuthProvider.EMAIL_PASSWORD_PROVIDER);
}
export const isSignInWithEmailLink = (auth, link) =>
  ActionCodeURL.parseLink(link)?.operation === ActionCodeOperation.EMAIL_SIGNIN;
export const signInWithEmailLink = (auth, email, link) =>
  signInWithCredential(auth, EmailAuthProvider.credentialWithLink(email, link));

// --- @firebase/auth/src/core/user/account_info.ts
import { updateEmailPassword } from "../../api/account_management/email_and_password";
import { _logoutIfInvalidated } from "./invalidation";
async function update(user, fields) {
  const request = { idToken: await user.getIdToken(), returnSecureToken: true, ...fields };
  await user._updateTokensIfNecessary(await _logoutIfInvalidated(user, updateEmailPassword(user.auth, request)), true);
}
export const updateEmail = (user, email) => update(user, { email });
export const updatePassword = (user, password) => update(user, { password });

// --- @firebase/auth/src/core/credentials/index.ts
export { AuthCredential } from "./auth_credential";

// --- @firebase/auth/internal.ts
export { DefaultConfig } from "./src/core/auth/auth_impl";

// --- @firebase/auth/src/index.ts
export * from "./core";

// --- @firebase/auth/index.ts
export * from "./src/core";
export { TotpMultiFactorGenerator, TotpSecret } from "./src/mfa/assertions/totp";
export { getMultiFactorResolver } from "./src/mfa/mfa_resolver";
export { multiFactor } from "./src/mfa/mfa_user";
export { getAuth } from "./src/platform_browser";
export { PhoneMultiFactorGenerator } from "./src/platform_browser/mfa/assertions/phone";
export { PhoneAuthProvider } from "./src/platform_browser/providers/phone";
export { RecaptchaVerifier } from "./src/platform_browser/recaptcha/recaptcha_verifier";
export {
  linkWithPhoneNumber, reauthenticateWithPhoneNumber, signInWithPhoneNumber, updatePhoneNumber,
} from "./src/platform_browser/strategies/phone";
export { linkWithPopup, reauthenticateWithPopup, signInWithPopup } from "./src/platform_browser/strategies/popup";
export {
  getRedirectResult, linkWithRedirect, reauthenticateWithRedirect, signInWithRedirect,
} from "./src/platform_browser/strategies/redirect";
