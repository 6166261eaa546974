export { crd } from './crd.ts'
export {
  type ClientConfig,
  LEADER_NAME,
  mutatingWebhookConfiguration,
  probeAnnotation,
  type Registration,
  REPORTS_LEASE,
  SPEC_CHANGES,
  validatingWebhookConfiguration,
  WEBHOOK_NAME,
  WEBHOOK_TIMEOUT,
} from './webhook-configurations.ts'
