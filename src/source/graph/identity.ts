import type { TokenCredential } from '@azure/identity';
import { GraphError } from './graph-error.ts';
import type { GraphCloud } from './graph.ts';

type Variables = Readonly<Record<string, string | undefined>>;

/** Which way of showing who we are the variables stand for, the most particular first. */
export type IdentityKind = 'secret' | 'certificate' | 'workload' | 'managed';

/** Throws `GraphError` `credentials` that names what is missing. */
export function chooseIdentity(variables: Variables): IdentityKind {
  const isSet = (name: string): boolean => (variables[name] ?? '') !== '';
  const need = (kind: IdentityKind, because: string, ...names: string[]): IdentityKind => {
    const missing = names.filter((name) => !isSet(name));
    if (missing.length === 0) return kind;
    throw new GraphError('credentials', `${because} is set, but ${missing.join(' and ')} is not.`);
  };
  const app = ['AZURE_TENANT_ID', 'AZURE_CLIENT_ID'];
  if (isSet('AZURE_CLIENT_SECRET')) return need('secret', 'AZURE_CLIENT_SECRET', ...app);
  const certificate = 'AZURE_CLIENT_CERTIFICATE_PATH';
  if (isSet(certificate)) return need('certificate', certificate, ...app);
  if (isSet('AZURE_FEDERATED_TOKEN_FILE')) return need('workload', 'AZURE_FEDERATED_TOKEN_FILE', ...app);
  if (isSet('AZURE_TENANT_ID'))
    throw new GraphError(
      'credentials',
      'AZURE_TENANT_ID is set, but none of AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH and AZURE_FEDERATED_TOKEN_FILE.',
    );
  return 'managed';
}

/** The credential that the variables stand for. The library takes long to load, so it is loaded when it is needed. */
export async function openIdentity(
  cloud: GraphCloud,
  isAuthorityOwn: boolean,
  variables: Variables = process.env,
): Promise<TokenCredential> {
  const kind = chooseIdentity(variables);
  const library = await import('@azure/identity');
  const [tenant, client] = [variables['AZURE_TENANT_ID'] ?? '', variables['AZURE_CLIENT_ID'] ?? ''];
  // Microsoft's list of authorities knows none that somebody set.
  const options = { authorityHost: cloud.authority, disableInstanceDiscovery: isAuthorityOwn };
  switch (kind) {
    case 'secret':
      return new library.ClientSecretCredential(
        tenant,
        client,
        variables['AZURE_CLIENT_SECRET'] ?? '',
        options,
      );
    case 'certificate': {
      const certificatePath = variables['AZURE_CLIENT_CERTIFICATE_PATH'] ?? '';
      const certificatePassword = variables['AZURE_CLIENT_CERTIFICATE_PASSWORD'];
      const certificate =
        certificatePassword === undefined ? { certificatePath } : { certificatePath, certificatePassword };
      return new library.ClientCertificateCredential(tenant, client, certificate, options);
    }
    case 'workload':
      return new library.WorkloadIdentityCredential(options);
    case 'managed':
      return client === ''
        ? new library.ManagedIdentityCredential()
        : new library.ManagedIdentityCredential({ clientId: client });
    default:
      return kind satisfies never;
  }
}
