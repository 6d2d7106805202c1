"""Files that are elsewhere: archives fetched from web servers and S3, results copied there."""
