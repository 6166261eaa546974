import { differenceText } from '../relations/index.ts'
import { type Finding, shortQuote } from '../rule/index.ts'
import { isRedirect } from './connection.ts'
import { findingAt, listText, wrongValueAt } from './findings.ts'
import { problemWithKeys } from './keys.ts'
import {
  discoveryUrl,
  expectedIssuer,
  type Metadata,
  possibleDocuments,
  readMetadata,
  readResourceMetadata,
  resourceMetadataUrl,
} from './metadata.ts'
import { offerFindings } from './offers.ts'
import type { ProbeAnswer, Method } from './request.ts'
import type { Needs, Reader, Target, TargetUse } from './target.ts'

/**
 * Sends a request, to check an address in a resource. When there is no answer, reports this (unless `isSilent`) and
 * returns undefined.
 */
export type Asking = (method: Method, url: string, isSilent?: boolean) => Promise<ProbeAnswer | undefined>

type UseThat<Is extends TargetUse['is']> = Extract<TargetUse, { readonly is: Is }>

/** Sends the requests that check one address in a resource, and returns the findings. */
export function check(target: Target, ask: Asking): Promise<readonly Finding[]> {
  const { use } = target
  switch (use.is) {
    case 'issuer':
      return checkIssuer(target, use, ask)
    case 'keys':
      return checkKeys(target, target.url, use.reader, ask, use.isPrivate)
    case 'metadata':
      return checkMetadata(target, use, ask)
    case 'endpoint':
      return checkEndpoint(target, use.needs, ask)
    case 'remote':
      return checkRemote(target, use, ask)
    case 'resource':
      return checkResource(target, use, ask)
  }
}

/** By the part of the operator that uses an issuer: what happens when it cannot use the issuer. */
const CONSEQUENCES: Readonly<Record<Reader, string>> = {
  validator: 'every token is refused with 401',
  upstream: 'the server does not start',
  trusted: 'every token of it is refused',
}

async function checkIssuer(
  target: Target,
  { reader, needs, isOptional = false }: UseThat<'issuer'>,
  ask: Asking,
): Promise<Finding[]> {
  const url = discoveryUrl(target.url)
  const answer = await ask('GET', url, isOptional)
  if (answer === undefined || isRedirect(answer)) return []
  const read = readDocument(target, url, answer, CONSEQUENCES[reader])
  if ('error' in read) return isOptional ? [] : [read]
  const { issuer, jwks_uri: keysUrl } = read
  const unequal = issuerFindings(target, target.url, issuer, reader)
  if (isOptional) return issuer === undefined ? [] : unequal
  const missing = (reader === 'upstream' ? NEEDED_FOR_LOGIN : (['jwks_uri'] as const)).filter(
    (field) => read[field] === undefined || read[field].length === 0,
  )
  const lacking = missing.map((field) =>
    findingAt(target, 'probe-discovery-served', `${url} has no ${field}, so ${CONSEQUENCES[reader]}`),
  )
  const keys = keysUrl === undefined ? [] : await checkKeys(target, keysUrl, reader, ask)
  const offers = offerFindings(target, needs, read)
  return [...unequal, ...lacking, ...keys, ...offers, ...(await reachTokenEndpoint(read, target, ask))]
}

/** The fields that the operator needs in the metadata of an upstream provider, where users log in. */
const NEEDED_FOR_LOGIN = [
  'authorization_endpoint',
  'token_endpoint',
  'jwks_uri',
  'response_types_supported',
] as const

function readDocument(
  target: Target,
  url: string,
  { status, body }: ProbeAnswer,
  consequence: string,
): Metadata | Finding {
  const failed = (what: string, advice: string) =>
    findingAt(target, 'probe-discovery-served', `${url} ${what}, so ${consequence}; ${advice}`)
  const otherIssuer = 'write the issuer whose document it is'
  if (status !== 200) return failed(`answers ${status}`, otherIssuer)
  const read = readMetadata(body)
  if (read === undefined) return failed('is not a JSON object', otherIssuer)
  const { metadata, wrong } = read
  return wrong.length === 0
    ? metadata
    : failed(`cannot be read: ${wrong.join(', ')}`, 'the server has to mend its document')
}

function issuerFindings(
  target: Target,
  expected: string,
  issuer: string | undefined,
  reader: Reader,
): Finding[] {
  if (issuer === expected) return []
  const { at } = target
  const says = issuer === undefined ? 'has no issuer' : `says ${shortQuote(issuer)}`
  const advice =
    issuer === undefined
      ? ''
      : issuer.includes('{')
        ? '; write the issuer of one tenant'
        : `; write ${shortQuote(issuer)}`
  const detail = `its discovery document ${says}${differenceText(expected, issuer ?? '')}, so ${CONSEQUENCES[reader]}${advice}`
  return [wrongValueAt({ at, url: expected }, 'probe-issuer-equal', detail)]
}

async function checkKeys(
  target: Target,
  url: string,
  reader: Reader,
  ask: Asking,
  isPrivate = false,
): Promise<Finding[]> {
  const answer = await ask('GET', url)
  if (answer === undefined || isRedirect(answer)) return []
  // 401 and 403 are not reported: the pod sends a token when it reads these keys, and this probe does not.
  if (isPrivate && (answer.status === 401 || answer.status === 403)) return []
  const problem = answer.status === 200 ? problemWithKeys(answer.body, reader) : `answers ${answer.status}`
  return problem === undefined
    ? []
    : [findingAt(target, 'probe-keys-usable', `${url} ${problem}, so ${CONSEQUENCES[reader]}`)]
}

async function checkMetadata(
  target: Target,
  { needs }: UseThat<'metadata'>,
  ask: Asking,
): Promise<Finding[]> {
  const answer = await ask('GET', target.url)
  if (answer === undefined || isRedirect(answer)) return []
  const read = readDocument(target, target.url, answer, CONSEQUENCES.upstream)
  if ('error' in read) return [read]
  const expected = expectedIssuer(target.url)
  const unequal =
    read.issuer === expected
      ? []
      : [
          findingAt(
            target,
            'probe-issuer-equal',
            `the document says the issuer is ${shortQuote(read.issuer ?? '')}, but its address says ${shortQuote(expected)}${differenceText(expected, read.issuer ?? '')}, so ${CONSEQUENCES.upstream}`,
          ),
        ]
  return [...unequal, ...offerFindings(target, needs, read)]
}

/** Accepts any answer to HEAD: many endpoints accept only POST, and servers refuse HEAD with different statuses. */
async function checkEndpoint(target: Target, needs: Needs | undefined, ask: Asking): Promise<Finding[]> {
  const answer = await ask('HEAD', target.url)
  if (answer === undefined || needs === undefined) return []
  for (const url of possibleDocuments(new URL(target.url))) {
    const document = await ask('GET', url, true)
    const metadata = document?.status === 200 ? readMetadata(document.body)?.metadata : undefined
    if (metadata?.token_endpoint === target.url) return offerFindings(target, needs, metadata)
  }
  return []
}

/** Sends a request to the token endpoint of an upstream provider if it is on another host than the issuer. */
async function reachTokenEndpoint({ token_endpoint: url }: Metadata, target: Target, ask: Asking) {
  const { use } = target
  const isUsed = use.is === 'issuer' && use.reader === 'upstream' && url !== undefined
  if (isUsed && URL.canParse(url) && new URL(url).host !== new URL(target.url).host) await ask('HEAD', url)
  return []
}

async function checkRemote(
  target: Target,
  { hasCredential }: UseThat<'remote'>,
  ask: Asking,
): Promise<Finding[]> {
  const answer = await ask('HEAD', target.url)
  if (answer?.status !== 401 || hasCredential) return []
  const detail =
    'the server answers 401 without a token, and the entry sends none, so the gateway serves none of its tools; name credentials in externalAuthConfigRef'
  return [findingAt(target, 'probe-credential-configured', detail)]
}

/**
 * Checks the metadata that a server publishes as a protected resource (RFC 9728). If it differs from the manifest,
 * another server answers, or the server has an older configuration.
 */
async function checkResource(
  target: Target,
  { issuer }: UseThat<'resource'>,
  ask: Asking,
): Promise<Finding[]> {
  const url = resourceMetadataUrl(target.url)
  const answer = await ask('GET', url)
  if (answer === undefined || isRedirect(answer)) return []
  const failed = (what: string) => {
    const detail = `${url} ${what}, so clients do not find where to log in; route this path to the server too`
    return [findingAt(target, 'probe-resource-metadata-served', detail)]
  }
  if (answer.status !== 200) return failed(`answers ${answer.status}`)
  const read = readResourceMetadata(answer.body)
  if (read === undefined) return failed('is not a JSON object')
  if (read.wrong.length > 0) return failed(`cannot be read: ${read.wrong.join(', ')}`)
  const { resource = '', authorization_servers: servers = [] } = read.metadata
  const disagrees = (detail: string) =>
    findingAt(
      target,
      'probe-resource-metadata-agrees',
      `${detail}; either another server answers at this URL, or this manifest is not applied yet`,
    )
  return [
    ...(resource === target.url
      ? []
      : [
          disagrees(
            `its metadata names the resource ${shortQuote(resource)}${differenceText(target.url, resource)}, so clients refuse it`,
          ),
        ]),
    ...(issuer === undefined || servers.includes(issuer)
      ? []
      : [
          disagrees(
            `its metadata sends users to log in at ${listText(servers) || 'no server'}, not at ${shortQuote(issuer)}`,
          ),
        ]),
  ]
}
