// Pages of a bucket's keys. Threads: any but that of the transfers, as the function waits.
#pragma once

#include "client.h"

namespace h5mount::remote {

// As described at Client::list.
Result<ListedPage> list_bucket(ClientParts& client, const Url& prefix, const ListQuery& query);

}  // namespace h5mount::remote
