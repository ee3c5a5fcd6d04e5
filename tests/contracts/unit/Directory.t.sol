// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Directory} from "../../../contracts/companions/Directory.sol";
import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {ICompanion} from "../../../contracts/interfaces/ICompanion.sol";
import {IDirectory, Licence} from "../../../contracts/interfaces/IDirectory.sol";
import {Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {vm} from "./Check.sol";
import {AccountsDouble, PoolDouble, cloneFor} from "./PoolDouble.sol";

contract DirectoryTest {
    address private constant OWNER = address(0x03E4);
    address private constant SOMEBODY = address(0x50E);
    AccountsDouble private accounts;
    PoolDouble private pool;
    Directory private directory;

    function setUp() external {
        Params memory none;
        vm.warp(1_800_000_000);
        accounts = new AccountsDouble();
        pool = new PoolDouble(OWNER, address(0x77), none);
        directory = Directory(cloneFor(address(new Directory(IAccounts(address(accounts)))), address(pool)));
    }

    function test_it_knows_its_pool() external view {
        vm.assertEq(directory.controller(), address(pool));
    }

    function test_anybody_announces_a_service_of_a_known_kind() external {
        bytes32[5] memory kinds = [bytes32("access"), "scheduler", "gateway", "ipfs", "seed"];
        for (uint256 i = 0; i < kinds.length; ++i) {
            vm.expectEmit(true, true, true, true, address(directory));
            emit IDirectory.ServiceAnnounced(SOMEBODY, kinds[i], "endpoint", hex"0024");
            vm.prank(SOMEBODY);
            directory.announce(kinds[i], "endpoint", hex"0024");
        }
        vm.expectRevert(abi.encodeWithSelector(IDirectory.UnknownKind.selector, bytes32("taxi")));
        directory.announce("taxi", "endpoint", "");
    }

    /// @dev Nobody announces in another's name but `Accounts`, which has its word.
    function test_a_group_announces_through_accounts() external {
        vm.expectEmit(true, true, true, true, address(directory));
        emit IDirectory.ServiceAnnounced(SOMEBODY, "seed", 0, "");
        accounts.act(SOMEBODY, address(directory), abi.encodeCall(IDirectory.announce, ("seed", 0, "")));
    }

    function test_the_owner_licenses_and_takes_back() external {
        uint40 until = uint40(block.timestamp + 30 days);
        vm.assertFalse(directory.isLicensed(SOMEBODY));
        vm.expectEmit(true, true, true, true, address(directory));
        emit IDirectory.LicenceIssued(SOMEBODY, "provider", 0, until);
        vm.prank(OWNER);
        directory.issueLicence(SOMEBODY, "provider", 0, until);
        vm.assertTrue(directory.isLicensed(SOMEBODY));
        vm.warp(until - 1);
        vm.assertTrue(directory.isLicensed(SOMEBODY));
        vm.warp(until);
        vm.assertFalse(directory.isLicensed(SOMEBODY));

        vm.prank(OWNER);
        directory.issueLicence(SOMEBODY, "provider", 0, until + 1);
        vm.assertTrue(directory.isLicensed(SOMEBODY));
        vm.prank(OWNER);
        directory.issueLicence(SOMEBODY, "provider", 0, 0);
        vm.assertFalse(directory.isLicensed(SOMEBODY));
    }

    function test_a_software_licence_makes_no_provider() external {
        vm.prank(OWNER);
        directory.issueLicence(SOMEBODY, "matlab", 25, uint40(block.timestamp + 1));
        Licence memory licence = directory.licenceOf(SOMEBODY, "matlab");
        vm.assertEq(licence.seats, 25);
        vm.assertEq(licence.expiresAt, block.timestamp + 1);
        vm.assertFalse(directory.isLicensed(SOMEBODY));
    }

    function test_nobody_else_licenses() external {
        vm.expectRevert(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, SOMEBODY));
        vm.prank(SOMEBODY);
        directory.issueLicence(SOMEBODY, "provider", 0, type(uint40).max);
        // `Accounts` acts for nobody of itself.
        vm.expectRevert(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, address(0)));
        vm.prank(address(accounts));
        directory.issueLicence(SOMEBODY, "provider", 0, type(uint40).max);
    }

    function test_a_licence_is_for_something() external {
        vm.expectRevert(abi.encodeWithSelector(IDirectory.UnknownKind.selector, bytes32(0)));
        vm.prank(OWNER);
        directory.issueLicence(SOMEBODY, 0, 1, 1);
    }
}
